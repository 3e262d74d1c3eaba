// byref for OpenCode: tells byref's daemon of each tool call, and shows the view that it answers in the output's place.
// Whatever goes wrong (no daemon, no answer in time), the tool's raw output stands.
import { spawn } from "node:child_process"
import { appendFileSync, readFileSync, statSync } from "node:fs"
import net from "node:net"
import os from "node:os"

const CLIENT = "@CLIENT@" // the program that hands an event on where this one cannot: it starts the daemon
const HOOK = "@HOOK@", PATIENT = "@PATIENT@" // the command lines that run it; the latter waits for the daemon
const SERVER = ["@SERVER@"] // the command of the MCP server
const TICK = 15, WAIT = 1000 * process.env.BYREF_HOOK_WAIT || 150, STARTING = 6000 // ms
const AMPLE = 256 << 10, RATE = 10 << 10 // bytes of an event, above which each RATE of it gives a millisecond more
const ABSENT = new Error("nobody listens")
const env = process.env
const off = ["off", "0", "false", "no"].includes((env.BYREF ?? "").toLowerCase()), mac = process.platform === "darwin"
const data = mac ? "Library/Application Support" : ".local/share"
const home = env.BYREF_HOME || `${(!mac && env.XDG_DATA_HOME) || `${env.HOME || os.homedir()}/${data}`}/byref`
const settings = Object.fromEntries(
  ["BYREF_SCOPE", "BYREF_PROFILE", "BYREF_MAX_BYTES", "BYREF_MAX_AGE"].filter((name) => env[name]).map((name) => [name, env[name]]))

const size = (path) => { try { return statSync(path).size } catch { return 0 } }

function log(fault) {
  const line = `${new Date().toISOString().slice(0, 19)}Z ${process.pid} plugin opencode: ${fault}`.replaceAll("\n", " ").slice(0, 500)
  try { appendFileSync(`${home}/byref.log`, line + "\n", { mode: 0o600 }) } catch {}
}

// What work promises, or a fault after some milliseconds: an answer that never comes holds up no tool. They are counted in ticks, so that
// a program that stands still for a while, and so hears of nothing, is not taken for a daemon that does.
function within(ms, work) {
  return new Promise((done, fail) => {
    let left = ms
    const ticks = setInterval(() => (left -= TICK) <= 0 && end(fail, new Error("no answer in time")), TICK)
    const end = (how, what) => (clearInterval(ticks), how(what), left <= 0 && stop())
    const stop = work((value) => end(done, value), (fault) => end(fail, fault))
  })
}

function post(body) {
  const ascii = (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0")
  const told = Object.keys(settings).length ? `Byref-Settings: ${JSON.stringify(settings).replace(/[^ -~]/g, ascii)}\r\n` : ""
  const version = /^VERSION = "(.*)"/m.exec(readFileSync(CLIENT, "utf8"))[1]
  const head = `POST /hooks/opencode HTTP/1.1\r\nHost: byref\r\nByref-Version: ${version}\r\nConnection: close\r\n${told}`
  return within(WAIT + Math.max(0, body.length - AMPLE) / RATE, (done, fail) => {
    const socket = net.connect(`${home}/daemon.sock`), pieces = []
    socket.on("data", (piece) => pieces.push(piece)).on("error", () => fail(ABSENT)).on("close", () => {
      const answer = Buffer.concat(pieces).toString(), [, status, size] = /^HTTP\/1.. (\d+)[^]*?\r\ncontent-length: *(\d+)/i.exec(answer) ?? []
      const found = answer.slice(answer.indexOf("\r\n\r\n") + 4)
      if (status === "409") fail(ABSENT) // it is of another version, and ends
      else if (status === "200" && Buffer.byteLength(found) === Number(size)) done(found)
      else status === "204" ? done("") : fail(new Error(`the daemon answered ${status}`))
    })
    socket.write(`${head}Content-Length: ${body.length}\r\n\r\n`)
    socket.write(body)
    return () => socket.destroy()
  })
}

function start(body, command) {
  return within(STARTING, (done, fail) => {
    const child = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "pipe", "ignore"] }), pieces = []
    child.stdout.on("data", (piece) => pieces.push(piece))
    child.on("error", fail).on("close", () => done(Buffer.concat(pieces).toString()))
    child.stdin.on("error", () => {}).end(body)
    return () => child.kill()
  })
}

async function tell(type, session, more) {
  try {
    const body = Buffer.from(JSON.stringify({ type, session, ...more }))
    const answer = await post(body).catch((fault) => {
      if (fault === ABSENT) return start(body, ["asked", "compacted"].includes(type) ? PATIENT : HOOK)
      throw fault
    })
    return answer ? JSON.parse(answer) : undefined
  } catch (fault) {
    log(fault)
  }
}

export const Byref = async ({ directory: folder }) => {
  if (off) return {}
  const said = new Map(), calls = new Map() // what each session's agent wrote last, which calls a message made
  const call = ({ callID, tool, args, sessionID }, more) => ({ folder, call: callID, tool, args, said: said.get(sessionID), ...more })
  const told = {
    "session.compacted": ({ sessionID }) => tell("compacted", sessionID, { folder }),
    "message.removed": ({ sessionID }) => tell("compacted", sessionID, { folder }), // the user went back to an earlier message
    "session.deleted": ({ info }) => tell("closed", info.id, { folder }),
    "message.updated": ({ info }) => {
      if (info.role !== "assistant" || !info.time.completed) return
      const made = [...(calls.get(info.id) ?? [])]
      calls.delete(info.id)
      return tell("billed", info.sessionID, { folder, info, calls: made })
    },
    "message.part.updated": ({ part }) => {
      if (part.type === "text") said.set(part.sessionID, part.text)
      if (part.type !== "tool") return
      calls.set(part.messageID, (calls.get(part.messageID) ?? new Set()).add(part.callID))
      if (part.state.time?.compacted) return tell("compacted", part.sessionID, { folder }) // an old output was cleared
      const { status, input: args, error } = part.state
      if (status === "error") return tell("failed", part.sessionID, call(part, { args, error }))
    },
  }
  return {
    config: async (config) => { (config.mcp ??= {}).byref ??= { type: "local", command: SERVER } },
    event: async ({ event }) => { await told[event.type]?.(event.properties) },
    "chat.message": async ({ sessionID }, { parts }) => {
      await tell("asked", sessionID, { folder, text: parts.map((part) => part.text ?? "").join("\n") })
    },
    "experimental.session.compacting": async (input) => { await tell("compacted", input.sessionID, { folder }) },
    "tool.execute.before": async (input, output) => { await tell("began", input.sessionID, call({ ...input, args: output.args })) },
    "tool.execute.after": async (input, output) => {
      const path = output.metadata?.outputPath, more = { output: output.output, content: output.content, exit: output.metadata?.exit }
      const view = await tell("returned", input.sessionID, call(input, { ...more, spilled: path, size: path ? size(path) : 0 }))
      if (typeof view?.output === "string") output.output = view.output
      const blocks = view?.texts ? output.content.filter((block) => block.type === "text") : []
      blocks.forEach((block, n) => (block.text = view.texts[n] ?? block.text))
    },
  }
}
