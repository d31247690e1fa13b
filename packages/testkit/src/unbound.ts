import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { isCi } from './ci.ts'

const BINARY = 'unbound'

/** A recursive resolver (Unbound) on loopback, whose configuration can be changed. */
export interface Unbound extends AsyncDisposable {
  /** `127.0.0.1:port`, which does not change. */
  readonly server: string
  /** Makes it the resolver of a closed network: it replies NXDOMAIN to every name, and to the root. */
  close(): Promise<void>
  /** Makes it forward all queries to another server. */
  forwardTo(server: string): Promise<void>
}

/** Whether Unbound is installed, or must be: with CI=true the tests fail without it. */
export function canRunUnbound(): boolean {
  return isCi() || spawnSync(BINARY, ['-V']).status === 0
}

/** Starts Unbound as the resolver of a closed network. */
export async function startUnbound(): Promise<Unbound> {
  await using stack = new AsyncDisposableStack()
  const dir = stack.use(await mkdtempDisposable(join(tmpdir(), 'unbound-'))).path
  const port = await freePort()
  let running: ChildProcess | null = null
  const stop = async (): Promise<void> => {
    if (running === null || running.exitCode !== null || running.signalCode !== null) return
    const left = once(running, 'exit')
    running.kill('SIGTERM')
    await left
  }
  stack.defer(stop)
  const restart = async (view: readonly string[]): Promise<void> => {
    await stop()
    const file = join(dir, 'unbound.conf')
    await writeFile(file, configOf(dir, port, view))
    const child = spawn(BINARY, ['-d', '-c', file], { stdio: 'ignore' })
    running = child
    const ended = once(child, 'exit').then(() => 'ended' as const)
    const found = await Promise.race([untilAnswered(port), ended])
    if (found === 'answered') return
    const log = await readFile(join(dir, 'log'), 'utf8').catch(() => 'nothing was logged')
    throw new Error(`unbound on port ${port}: ${found}\n${log}`)
  }
  const close = (): Promise<void> => restart(['server:', '  local-zone: "." static'])
  await close()
  const owned = stack.move()
  return {
    server: `127.0.0.1:${port}`,
    close,
    forwardTo: (server) =>
      restart(['forward-zone:', '  name: "."', `  forward-addr: ${server.replace(':', '@')}`]),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function configOf(dir: string, port: number, view: readonly string[]): string {
  const lines = [
    'server:',
    `  interface: 127.0.0.1@${port}`,
    '  username: ""',
    '  chroot: ""',
    `  directory: "${dir}"`,
    '  pidfile: ""',
    '  use-syslog: no',
    `  logfile: "${dir}/log"`,
    '  do-daemonize: no',
    '  do-not-query-localhost: no',
    '  do-ip6: no',
    '  module-config: "iterator"',
    '  access-control: 127.0.0.0/8 allow',
    'remote-control:',
    '  control-enable: no',
    ...view,
  ]
  return `${lines.join('\n')}\n`
}

/**
 * A port that is free for UDP and TCP, and below the range of ports of outgoing connections
 * (`ip_local_port_range`), from which one could be taken while the server restarts.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_768)
    if ((await isFreeForUdp(port)) && (await isFreeForTcp(port))) return port
  }
}

async function isFreeForUdp(port: number): Promise<boolean> {
  const socket = createSocket('udp4')
  const isFree = once(socket, 'listening').then(
    () => true,
    () => false,
  )
  socket.bind(port, '127.0.0.1')
  const found = await isFree
  socket.close()
  return found
}

async function isFreeForTcp(port: number): Promise<boolean> {
  const server = createServer()
  const isFree = once(server, 'listening').then(
    () => true,
    () => false,
  )
  server.listen(port, '127.0.0.1')
  const found = await isFree
  server.close()
  return found
}

/** A query for the A record of `ready.invalid`, which every server answers in some way. */
const QUESTION = Buffer.from(
  '00070100000100000000000005726561647907696e76616c69640000010001',
  'hex',
)

/** Milliseconds that a start may take on a loaded machine. */
const START_MS = 60_000

async function untilAnswered(port: number): Promise<'answered' | 'silent'> {
  const socket = createSocket('udp4')
  // While nothing listens, the refusal is an error of the socket.
  socket.on('error', () => undefined)
  const answered = new Promise<'answered'>((resolve) => {
    socket.once('message', () => resolve('answered'))
  })
  const again = setInterval(() => socket.send(QUESTION, port, '127.0.0.1'), 50)
  try {
    return await Promise.race([answered, wait(START_MS, 'silent' as const, { ref: false })])
  } finally {
    clearInterval(again)
    socket.close()
  }
}
