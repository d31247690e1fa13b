import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  chmod,
  chown,
  mkdir,
  mkdtempDisposable,
  readdir,
  readFile,
  writeFile,
} from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { freePort } from './child-server.ts'
import { isCi } from './ci.ts'

/** A Postfix on loopback, with queues and settings in a temporary folder. */
export interface Postfix extends AsyncDisposable {
  readonly port: number
  /** The number of messages in all queues. */
  queued(): Promise<number>
}

/** Debian's folder of the daemons; `POSTFIX_DAEMON_DIRECTORY` overrides it. */
const DAEMONS = process.env['POSTFIX_DAEMON_DIRECTORY'] ?? '/usr/lib/postfix/sbin'

/**
 * Whether Postfix is installed and this process may start it, as root. With CI=true it must be, and the
 * tests fail without it.
 */
export function canRunPostfix(): boolean {
  const isHere = existsSync(join(DAEMONS, 'master')) && process.getuid?.() === 0
  return isCi() || isHere
}

const POSTGREY = '/usr/sbin/postgrey'

/**
 * Whether Debian's greylisting policy server is installed, or must be: with CI=true the tests fail
 * without it.
 */
export function canRunPostgrey(): boolean {
  return isCi() || existsSync(POSTGREY)
}

/**
 * User and group `mail` of Debian, which own the queues: Postfix accepts neither `nobody` nor a group that
 * its commands use.
 */
const OWNER = 8
const QUEUES = ['incoming', 'active', 'deferred', 'corrupt', 'hold', 'maildrop']
const OTHER_FOLDERS = ['bounce', 'defer', 'flush', 'pid', 'private', 'public', 'saved', 'trace']
const READY_MS = 10_000

/**
 * Starts Postfix on three addresses: 127.0.0.1 accepts mail for `real.test` (by a table of users) and
 * `all.test` (any recipient), 127.0.0.2 refuses every sender, 127.0.0.3 every client. Users with the value
 * `greylisted` are deferred by postgrey for six seconds if it is installed, and accepted at once
 * otherwise.
 */
export async function startPostfix(users: Readonly<Record<string, string>>): Promise<Postfix> {
  await using stack = new AsyncDisposableStack()
  const root = stack.use(await mkdtempDisposable(join(tmpdir(), 'postfix-'))).path
  await chmod(root, 0o755)
  const port = await freePort()
  const greyPort = await freePort()
  if (canRunPostgrey()) stack.use(await startPostgrey(root, greyPort))
  await prepare(root, port, greyPort, users)
  const master = spawn(join(DAEMONS, 'master'), ['-c', join(root, 'etc'), '-d'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      MAIL_CONFIG: join(root, 'etc'),
      LD_LIBRARY_PATH: dirname(DAEMONS),
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    },
  })
  let said = ''
  master.stderr.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(-2_000)
  })
  stack.defer(async () => {
    if (master.exitCode !== null || master.signalCode !== null) return
    const left = once(master, 'exit')
    master.kill('SIGTERM')
    await left
  })
  try {
    const isOver = (): boolean => master.exitCode !== null
    await until('Postfix', isOver, () => greets(port))
  } catch (cause) {
    const log = await readFile(join(root, 'log', 'mail.log'), 'utf8').catch(() => '')
    throw new Error(`Postfix did not start: ${said}${log.slice(-2_000)}`, { cause })
  }
  const running = stack.move()
  return {
    port,
    async queued() {
      const found = await Promise.all(
        QUEUES.map((queue) => readdir(join(root, 'queue', queue), { recursive: true })),
      )
      return found.flat().filter((name) => /[0-9A-F]{8,}$/.test(name)).length
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

async function prepare(
  root: string,
  port: number,
  greyPort: number,
  users: Readonly<Record<string, string>>,
): Promise<void> {
  await Promise.all(['etc', 'data', 'queue', 'log'].map((name) => mkdir(join(root, name))))
  await chown(join(root, 'data'), OWNER, OWNER)
  for (const name of [...QUEUES, ...OTHER_FOLDERS]) {
    const folder = join(root, 'queue', name)
    await mkdir(folder)
    if (name !== 'pid') await chown(folder, OWNER, OWNER)
  }
  const table = (entries: readonly (readonly [string, string])[]): string =>
    entries.map(([key, value]) => `${key} ${value}\n`).join('')
  const of = (...kinds: string[]) =>
    Object.entries(users).filter(([, kind]) => kinds.includes(kind))
  const address = ([local]: readonly [string, string]): string => `${local}@real.test`
  const files: Readonly<Record<string, string>> = {
    'main.cf': mainSettings(root, greyPort),
    'master.cf': services(port),
    users: table(of('mailbox', 'full', 'greylisted').map((user) => [address(user), 'x'])),
    aliases: table(of('alias').map((user) => [address(user), 'postmaster@real.test'])),
    access: table([
      ...of('full').map((user) => [address(user), '452 4.2.2 Mailbox is full'] as const),
      ...of('greylisted').map((user) => [address(user), 'greylist'] as const),
    ]),
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, 'etc', name), text)
}

function mainSettings(root: string, greyPort: number): string {
  const etc = join(root, 'etc')
  const greylist = canRunPostgrey() ? `check_policy_service inet:127.0.0.1:${greyPort}` : 'permit'
  return `
compatibility_level = 3.6
queue_directory = ${join(root, 'queue')}
data_directory = ${join(root, 'data')}
daemon_directory = ${DAEMONS}
meta_directory = ${etc}
shlib_directory = ${dirname(DAEMONS)}
mail_owner = mail
setgid_group = daemon
import_environment = MAIL_CONFIG MAIL_LOGTAG LD_LIBRARY_PATH PATH
export_environment = MAIL_CONFIG LD_LIBRARY_PATH PATH
maillog_file_prefixes = ${root}
maillog_file = ${join(root, 'log', 'mail.log')}
myhostname = mx.real.test
mydomain = real.test
mydestination =
inet_protocols = ipv4
mynetworks =
alias_maps =
relay_domains =
virtual_mailbox_domains = real.test, all.test
virtual_mailbox_maps = texthash:${join(etc, 'users')}, inline:{ @all.test=x }
virtual_alias_maps = texthash:${join(etc, 'aliases')}
smtpd_peername_lookup = no
smtpd_tls_security_level = none
smtpd_restriction_classes = greylist
greylist = ${greylist}
smtpd_recipient_restrictions = reject_unauth_destination, reject_unlisted_recipient,
  check_recipient_access texthash:${join(etc, 'access')}
`
}

function services(port: number): string {
  return `
127.0.0.1:${port} inet n - n - - smtpd
127.0.0.2:${port} inet n - n - - smtpd -o { smtpd_sender_restrictions = reject }
127.0.0.3:${port} inet n - n - - smtpd -o { smtpd_client_restrictions = reject }
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`
}

/** Postgrey with its own database and default texts, as the user that Debian created for it. */
async function startPostgrey(root: string, port: number): Promise<AsyncDisposable> {
  const database = join(root, 'postgrey')
  await mkdir(database)
  await chmod(database, 0o777)
  const options = [`--inet=127.0.0.1:${port}`, `--dbdir=${database}`, '--delay=6']
  const server = spawn(POSTGREY, options, { stdio: 'ignore' })
  try {
    const isOver = (): boolean => server.exitCode !== null
    await until('Postgrey', isOver, () => accepts(port))
  } catch (error) {
    server.kill('SIGKILL')
    throw error
  }
  return {
    async [Symbol.asyncDispose]() {
      if (server.exitCode !== null || server.signalCode !== null) return
      const left = once(server, 'exit')
      // It may miss a SIGTERM that arrives just before it waits for a connection, and stores nothing.
      server.kill('SIGKILL')
      await left
    },
  }
}

async function until(
  name: string,
  isOver: () => boolean,
  isReady: () => Promise<boolean>,
): Promise<void> {
  const untilMs = performance.now() + READY_MS
  while (!(await isReady())) {
    if (isOver()) throw new Error(`${name} ended before it was ready`)
    if (performance.now() > untilMs) throw new Error(`${name} was not ready within ${READY_MS} ms`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function greets(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    const [first] = await once(socket, 'data', { signal: AbortSignal.timeout(3_000) })
    return String(first).startsWith('220')
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
