// A client of the TypeScript SDK, driven by lines: node mcp_peer.mjs NODE_MODULES COMMAND. Each line of stdin is a JSON object
// {name, arguments}; each line of stdout the result of that tool, whole, or {"fault": why there is none}.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, command] = process.argv.slice(2);
const require = createRequire(`${folder}/`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const client = new Client({ name: "a peer", version: "1" });
await client.connect(new StdioClientTransport({ command, args: [], env: process.env, stderr: "inherit" }));
await client.listTools(); // with the schemas of results, which the SDK checks them against
for await (const line of createInterface({ input: process.stdin })) {
    const said = await client.callTool(JSON.parse(line)).catch((fault) => ({ fault: String(fault) }));
    process.stdout.write(JSON.stringify(said) + "\n");
}
await client.close();
