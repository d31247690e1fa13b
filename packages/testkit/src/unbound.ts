import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isCi } from './ci.ts'

const BINARY = 'unbound'

/** Debian's recursive resolver on loopback, whose view of the DNS can be changed. */
export interface Unbound extends AsyncDisposable {
  /** `127.0.0.1:port`, the same for its life. */
  readonly server: string
  /** Makes it the resolver of a closed network: it denies every name, and the root. */
  close(): Promise<void>
  /** Makes it forward all queries to another server. */
  forwardTo(server: string): Promise<void>
}

/** Whether it is installed, or must be: with CI=true the tests fail without it. */
export function canRunUnbound(): boolean {
  return isCi() || spawnSync(BINARY, ['-V']).status === 0
}

/** Starts one as the resolver of a closed network. */
export async function startUnbound(): Promise<Unbound> {
  await using stack = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'unbound-'))
  stack.defer(() => rm(dir, { recursive: true, force: true }))
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
    running = spawn(BINARY, ['-d', '-c', file], { stdio: 'ignore' })
    await untilAnswered(port)
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

async function freePort(): Promise<number> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  return port
}

/** A query for the A record of `ready.invalid`, which every server answers in some way. */
const QUESTION = Buffer.from(
  '00070100000100000000000005726561647907696e76616c69640000010001',
  'hex',
)

async function untilAnswered(port: number): Promise<void> {
  const socket = createSocket('udp4')
  // Nobody listens yet: the refusal comes as an error of the socket.
  socket.on('error', () => undefined)
  const answered = once(socket, 'message', { signal: AbortSignal.timeout(20_000) })
  const again = setInterval(() => socket.send(QUESTION, port, '127.0.0.1'), 50)
  try {
    await answered
  } finally {
    clearInterval(again)
    socket.close()
  }
}
