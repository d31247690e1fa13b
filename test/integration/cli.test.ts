import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileOfProgram } from '@plumbline/testkit/bundled-programs'
import type { AccountView } from '@plumbline/contract/account'
import type { BatchPage, BatchView } from '@plumbline/contract/batch-view'
import { runCli } from '@plumbline/cli/program'
import { openConnections } from '@plumbline/pipeline/connections'
import { keepFilesPrivate } from '@plumbline/runtime/private-files'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backends } from '@plumbline/testkit/backends'
import { createTestDatabase } from '@plumbline/testkit/postgres'
import { startService, type TestService } from '@plumbline/testkit/service'

// The command line against a real service, found by its service.json. Tests about the process (signals,
// terminals, exit status) run the program itself; others run its code in this process, since starting
// the program takes longer than its work.

const MAIN = fileOfProgram('cli')
const SETTINGS = ['DATABASE_URL', 'REDIS_URL', 'API_URL', 'PLUMBLINE_KEY', 'LISTS_DIR', 'DATA_DIR']

interface Run {
  readonly status: number
  readonly out: string
  readonly err: string
}

let stack: AsyncDisposableStack
let service: TestService
let folder: string
let databaseUrl: string

/** Nothing listens on this port, so that no test connects to another machine. */
const OFFLINE = { SMTP_PROBING: 'false', DNS_SERVERS: '127.0.0.1:1' }

beforeAll(async () => {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await createTestDatabase())
  databaseUrl = database.url
  service = opening.use(
    await startService({
      databaseUrl: database.url,
      // Slow enough for a batch of thousands to be canceled, fast enough for one of ten.
      workers: [['email', 'phone', 'ip', 'domain', 'batch', '--delay=100', '--width=50']],
      env: { SWEEP_SECONDS: '1' },
    }),
  )
  const facts = {
    pid: process.pid,
    url: service.url,
    adminUrl: service.adminUrl,
    databaseUrl: database.url,
    redisUrl: null,
  }
  await writeFile(join(service.dataDir, 'service.json'), JSON.stringify(facts))
  folder = await mkdtemp(join(tmpdir(), 'plumbline-cli-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const before = process.cwd()
  process.chdir(folder)
  opening.defer(() => process.chdir(before))
  keepFilesPrivate()
  stack = opening.move()
})

afterAll(() => stack.disposeAsync())

/** Environment of a child: the service's data directory, without settings of this process that override it. */
function environment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const ours = Object.entries(process.env).filter(([name]) => !SETTINGS.includes(name))
  return { ...Object.fromEntries(ours), DATA_DIR: service.dataDir, ...extra }
}

const NODE_FLAGS = ['--disable-warning=ExperimentalWarning']

/**
 * Runs the program on a terminal, and answers its first question with `keys`.
 * @returns the status, and the output of the terminal
 */
async function onTerminal(words: readonly string[], keys: string): Promise<Run> {
  const quoted = [process.execPath, ...NODE_FLAGS, MAIN, ...words].map((word) => `'${word}'`)
  const child = spawn('script', ['-qec', quoted.join(' '), '/dev/null'], {
    env: environment({ SHELL: '/bin/sh', TERM: 'xterm', COLUMNS: '120' }),
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let out = ''
  let isAnswered = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    if (isAnswered || !out.includes('[y/N] ')) return
    isAnswered = true
    child.stdin.write(keys)
  })
  await once(child, 'close')
  return { status: child.exitCode ?? -1, out, err: '' }
}

/** Runs the program in a process of its own, without a terminal. */
async function program(words: readonly string[], extra: Record<string, string>): Promise<Run> {
  const child = spawn(process.execPath, [...NODE_FLAGS, MAIN, ...words], {
    env: environment(extra),
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (child.exitCode === null) await once(child, 'exit')
  return { status: child.exitCode ?? -1, out, err }
}

/** Runs a command in this process, without a terminal. */
async function cli(words: readonly string[], extra: Record<string, string> = {}): Promise<Run> {
  let [out, err, failed] = ['', '', false]
  const status = await runCli(words, {
    environment: environment(extra),
    write: (said) => void (out += said),
    tell: (said) => void (err += said),
    redraws: false,
    hasColors: false,
    stop: new AbortController().signal,
    fail: () => (failed = true),
  })
  return { status: status === 0 && failed ? 1 : status, out, err }
}

/** Runs a command with `--json` and parses the output, whose shape the test checks. */
async function json<T>(words: readonly string[], extra: Record<string, string> = {}): Promise<T> {
  const run = await cli([...words, '--json'], extra)
  expect(run).toMatchObject({ status: 0 })
  return JSON.parse(run.out) as T
}

interface Made {
  readonly account_id: string
  readonly live_key: string
  readonly test_key: string | null
}

interface AuditView {
  readonly at: string
  readonly account_id: string
  readonly actor: string
  readonly action: string
  readonly before: object | null
  readonly after: object | null
}

async function makeAccount(plan: string): Promise<Made> {
  return await json<Made>(['account', 'create', '--email', 'a@b.example', '--plan', plan])
}

async function credits(key: string): Promise<AccountView['credits']> {
  const answer = await service.call(key, 'GET', '/v1/account')
  const view = (await answer.json()) as AccountView
  return view.credits
}

describe('accounts and keys', () => {
  test('account create makes keys that work, and no test key on free', async () => {
    const pro = await makeAccount('pro')
    expect(Object.keys(pro)).toEqual(['account_id', 'live_key', 'test_key'])
    expect(pro.live_key).toMatch(/^svc_live_/)
    expect(pro.test_key).toMatch(/^svc_test_/)
    expect((await credits(pro.live_key)).allowance).toBe(25_000)
    expect((await makeAccount('free')).test_key).toBeNull()
  })

  test('account create names other accounts of the address', async () => {
    const words = ['account', 'create', '--email']
    expect(await cli([...words, 'twice@b.example'])).toMatchObject({ status: 0, err: '' })
    const again = await cli([...words, 'Twice@b.example'])
    expect(again.status).toBe(0)
    expect(again.err).toMatch(/^This address has other accounts: acc_\w+\.\n$/)
  })

  test('account create takes a time zone and refuses a wrong one in one sentence', async () => {
    const words = ['account', 'create', '--email', 'a@b.example', '--time-zone']
    const made = await json<Made>([...words, 'Europe/Berlin'])
    expect(await json(['account', 'show', made.account_id])).toMatchObject({
      plan: 'free',
      time_zone: 'Europe/Berlin',
    })
    const refused = await cli([...words, 'Mars/Olympus'])
    expect(refused).toMatchObject({ status: 1, out: '' })
    expect(refused.err).toMatch(/^"Mars\/Olympus" is not a time zone[^\n]*\n$/)
  })

  test('plan, pack and grant change what the account can spend', async () => {
    const { account_id: id, live_key: key } = await makeAccount('starter')
    expect(await json(['account', 'plan', id, '--plan', 'pro'])).toEqual({
      account_id: id,
      plan: 'pro',
      next_plan: null,
      granted: 20_000,
    })
    expect(await json(['account', 'plan', id, '--plan', 'free'])).toMatchObject({
      plan: 'pro',
      next_plan: 'free',
      granted: 0,
    })
    expect(await json(['account', 'pack', id, '--pack', 'growth'])).toMatchObject({
      granted: 5_000,
    })
    const grant = ['account', 'grant', id, '--credits', '70', '--ref', 'ticket 1']
    expect(await json(grant)).toMatchObject({ granted: 70, available: 30_070 })
    expect(await json(grant)).toMatchObject({ granted: 0, available: 30_070 })
    expect(await credits(key)).toMatchObject({ allowance: 25_000, packs: 5_070 })
    expect((await cli(['account', 'list'])).out).toContain(id)
  })

  test('key create revokes the older key, and key revoke the last', async () => {
    const { account_id: id, live_key: old } = await makeAccount('pro')
    const { key } = await json<{ key: string }>(['key', 'create', id, '--mode', 'live'])
    expect((await service.call(old, 'GET', '/v1/account')).status).toBe(401)
    expect((await service.call(key, 'GET', '/v1/account')).status).toBe(200)
    const keys = await json<readonly { revoked_at: string | null }[]>(['key', 'list', id])
    expect(keys.map(({ revoked_at }) => revoked_at === null)).toEqual([true, true, false])
    expect(await json(['key', 'revoke', id, '--mode', 'live'])).toMatchObject({ revoked: true })
    expect((await cli(['key', 'revoke', id, '--mode', 'live'])).status).toBe(1)
  })

  test('each change of accounts and keys is in the audit log, with its author and the old and new values', async () => {
    const { account_id: id } = await makeAccount('starter')
    const as = ['--as', 'Ada, support']
    await json(['account', 'plan', id, '--plan', 'pro', ...as])
    await json(['account', 'pack', id, '--pack', 'growth'])
    const grant = ['account', 'grant', id, '--credits', '70', '--ref', 'ticket 2', ...as]
    for (const granted of [70, 0]) expect(await json(grant)).toMatchObject({ granted })
    await json(['key', 'create', id, '--mode', 'live', ...as])
    await json(['key', 'revoke', id, '--mode', 'live'])
    expect((await cli(['key', 'revoke', id, '--mode', 'live'])).status).toBe(1)

    const key_id = expect.stringMatching(/^key_/)
    const me = userInfo().username
    const log = await json<readonly AuditView[]>(['audit', 'list', '--account', id])
    expect(log.every(({ at, account_id }) => at.startsWith('2') && account_id === id)).toBe(true)
    const live = { mode: 'live', key_id }
    const ada = 'Ada, support'
    const before = { plan: 'starter', next_plan: null }
    const pack = { packs: 5_000, granted: 5_000, ref: expect.stringMatching(/^cli:/) }
    const ticket = { packs: 5_070, granted: 70, ref: 'cli:ticket 2' }
    const plan = { plan: 'pro', next_plan: null, granted: 20_000 }
    expect(log.map((act) => [act.actor, act.action, act.before, act.after])).toEqual([
      [me, 'key.revoke', live, null],
      [ada, 'key.create', live, live],
      [ada, 'account.grant', { packs: 5_000 }, ticket],
      [me, 'account.pack', { packs: 0 }, pack],
      [ada, 'account.plan', before, plan],
      [me, 'key.create', null, { mode: 'test', key_id }],
      [me, 'key.create', null, live],
      [me, 'account.create', null, { plan: 'starter', time_zone: 'UTC' }],
    ])
    expect(JSON.stringify(log)).not.toContain('a@b.example')
    expect((await cli(['audit', 'list', '--limit', '1'])).out).toMatch(/^when +who +what +account/)
  })

  test('an error names an account that does not exist', async () => {
    for (const words of [
      ['account', 'show', 'acc_none'],
      ['account', 'grant', 'acc_none', '--credits', '5'],
      ['key', 'create', 'acc_none', '--mode', 'live'],
    ]) {
      const run = await cli(words)
      expect(run).toMatchObject({ status: 1, out: '' })
      expect(run.err).toContain('There is no account acc_none')
    }
  })
})

describe('lookup', () => {
  test('looks up each product with its optional fields', async () => {
    const { live_key } = await makeAccount('pro')
    const key = { PLUMBLINE_KEY: live_key }
    expect(await json(['lookup', 'ip', '8.8.8.8', '--key', live_key])).toMatchObject({
      ip: '8.8.8.8',
      credits_used: 1,
    })
    const bundle = ['--phone', '+442079460123', '--ip', '8.8.8.8', '--domain', 'example.com']
    expect(
      await json(['lookup', 'fraud-signals', 'ada@example.com', ...bundle, '--explain'], key),
    ).toMatchObject({
      email: { address: 'ada@example.com' },
      phone: { number: '+442079460123' },
      domain: { domain: 'example.com' },
      explain: {},
      credits_used: 5,
    })
    const several = await cli(['lookup', 'email', 'a@b.example', 'c@d.example', '--json'], key)
    const lines = several.out.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { email: 'a@b.example' },
      { email: 'c@d.example' },
    ])
    expect((await cli(['lookup', 'email', 'a@b.example'], key)).out).toMatch(
      /^syntax_valid +true$/m,
    )
  })

  test('looks up several subjects, and prints each result or refusal in order', async () => {
    const { live_key } = await makeAccount('pro')
    const words = ['lookup', 'ip', '8.8.8.8', 'bad', '1.1.1.1', '--key', live_key]
    const run = await cli([...words, '--json'])
    expect([run.status, run.err]).toEqual([1, '1 of 3 could not be answered.\n'])
    const lines = run.out.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { ip: '8.8.8.8', credits_used: 1 },
      { ip: 'bad', error: 'Bad Request', message: expect.stringContaining('ip') },
      { ip: '1.1.1.1', credits_used: 1 },
    ])
    expect((await credits(live_key)).allowance).toBe(24_998)
    const shown = await cli(words)
    expect([shown.status, shown.err]).toEqual([1, '1 of 3 could not be answered.\n'])
    expect(shown.out.split('\n\n').map((block) => /^ip +(\S+)$/m.exec(block)?.[1])).toEqual([
      '8.8.8.8',
      'bad',
      '1.1.1.1',
    ])
    // A refusal of the key applies to all of them.
    const wrong = await cli([...words.slice(0, 6), 'svc_live_wrong', '--json'])
    expect(wrong).toMatchObject({ status: 1, out: '' })
    expect(wrong.err.trimEnd().split('\n')).toHaveLength(1)
  })

  test('says what is missing or refused in one sentence', async () => {
    const none = await cli(['lookup', 'email', 'a@b.example', '--json'])
    expect(none).toMatchObject({ status: 1, out: '' })
    expect(none.err).toMatch(/^No API key was given[^\n]*\n$/)
    const wrong = await cli(['lookup', 'email', 'a@b.example', '--key', 'svc_live_wrong'])
    expect(wrong).toMatchObject({ status: 1, out: '' })
    expect(wrong.err.trimEnd().split('\n')).toHaveLength(1)
    const nowhere = await cli(['lookup', 'email', 'a@b.example', '--key', 'k'], {
      DATA_DIR: folder,
    })
    expect(nowhere).toMatchObject({ status: 1 })
    expect(nowhere.err).toContain('API_URL is not set')
    const silent = await cli(['lookup', 'email', 'a@b.example', '--key', 'k'], {
      DATA_DIR: folder,
      API_URL: 'http://127.0.0.1:1',
    })
    expect(silent.status).toBe(1)
    expect(silent.err).toMatch(/^The service cannot be reached: [^\n]+\n$/)
  })
})

describe('batch', () => {
  test('run writes every row and prints the finished batch', async () => {
    const { live_key: key } = await makeAccount('pro')
    await writeFile(join(folder, 'ten.csv'), listOf(10))
    const words = ['batch', 'run', 'ten.csv', '--product', 'email', '--out', 'ten-out.csv']
    const batch = await json<BatchView>([...words, '--key', key])
    expect(batch).toMatchObject({ status: 'completed', rows: { total: 10, done: 10 } })
    const rows = (await readFile(join(folder, 'ten-out.csv'), 'utf8')).trimEnd().split('\r\n')
    expect(rows).toHaveLength(11)
    expect(rows[0]).toMatch(/^(?:\uFEFF)?Work Email,Name,result\./)
    expect((await credits(key)).allowance).toBe(24_990)

    const mapped = await program(
      [...words.slice(0, 5), '--out', 'ten.ndjson', '--mapping', '{"email":"Work Email"}'],
      { PLUMBLINE_KEY: key },
    )
    expect(mapped.status).toBe(0)
    expect(mapped.err).toMatch(/\[#{32}\] 100 % {2}10\/10 rows {2}completed/)
    const lines = (await readFile(join(folder, 'ten.ndjson'), 'utf8')).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toHaveLength(10)

    const page = await json<BatchPage>(['batch', 'list', '--key', key])
    expect(page.data.map(({ status }) => status)).toEqual(['completed', 'completed'])
    expect(await json(['batch', 'show', batch.id, '--key', key])).toEqual(batch)
    expect((await cli(['batch', 'delete', batch.id, '--key', key])).status).toBe(0)
    const gone = await cli(['batch', 'results', batch.id, '--out', 'gone.csv', '--key', key])
    expect(gone.status).toBe(1)
    expect(await readdir(folder)).not.toContain('gone.csv')
  })

  test('results can be selected by verdict and after a row, with unchanged cells', async () => {
    const { live_key: key } = await makeAccount('pro')
    await writeFile(join(folder, 'mixed.csv'), `${listOf(3)}=1+1,Formula\nlast@b.example,Last\n`)
    const words = ['batch', 'run', 'mixed.csv', '--product', 'email', '--out', 'mixed-out.csv']
    const { id } = await json<BatchView>([...words, '--key', key])
    const rowsOf = async (name: string, ...more: readonly string[]): Promise<readonly string[]> => {
      await json(['batch', 'results', id, '--out', name, '--key', key, ...more])
      return (await readFile(join(folder, name), 'utf8')).trimEnd().split(/\r?\n/)
    }
    expect(await rowsOf('all.csv')).toHaveLength(6)
    const rest = await rowsOf('rest.ndjson', '--after', '3')
    expect(rest.map((line) => (JSON.parse(line) as { row: number }).row)).toEqual([4, 5])
    expect(await rowsOf('none.ndjson', '--only', 'refused,blank')).toEqual([''])
    expect(await rowsOf('done.ndjson', '--only', 'done', '--after', '4')).toHaveLength(1)
    // Without its header, so that it can be put behind the rows before.
    expect((await rowsOf('safe.csv', '--after', '3'))[0]).toMatch(/^"?'=1\+1/)
    expect((await rowsOf('raw.csv', '--after', '3', '--raw'))[0]).toMatch(/^=1\+1,/)
  })

  // `script` of util-linux makes the terminal; that of other systems takes other words.
  describe.skipIf(process.platform !== 'linux')('run on a terminal', () => {
    const run = async (name: string, keys: string, ...more: string[]) => {
      const { liveKey: key } = await service.account({ credits: 100 })
      const before = await credits(key)
      await writeFile(join(folder, `${name}.csv`), listOf(4))
      const words = [
        'batch',
        'run',
        `${name}.csv`,
        '--product',
        'email',
        '--out',
        `${name}.out.csv`,
      ]
      const shown = await onTerminal([...words, '--key', key, ...more], keys)
      const answer = await service.call(key, 'GET', '/v1/batches')
      const page = (await answer.json()) as BatchPage
      const left = await credits(key)
      return {
        ...shown,
        batches: page.data.map(({ status, credits: { held, used } }) => ({ status, held, used })),
        files: (await readdir(folder)).filter((file) => file.startsWith(`${name}.out`)),
        spent: before.allowance + before.packs - left.allowance - left.packs,
        held: left.held,
      }
    }

    test.each([
      ['no', 'n\r'],
      ['ctrl-C', '\u0003'],
      ['the end of input', '\u0004'],
    ])('shows the preview and the cost, and %s spends nothing', async (name, keys) => {
      const { out, ...told } = await run(name.replaceAll(' ', '-'), keys)
      expect(out).toMatch(/Work Email[^]*Start it for at most 4 credits\? \[y\/N\] /)
      expect(out).toMatch(/Nothing was spent\. The batch bat_\w+ waits/)
      expect(told).toMatchObject({
        status: 130,
        batches: [{ status: 'ready', held: 0, used: 0 }],
        files: [],
        spent: 0,
        held: 0,
      })
    })

    test('continues after yes, and shows its progress', async () => {
      const { out, ...told } = await run('yes', 'y\r')
      expect(out).toMatch(/100 % {2}4\/4 rows {2}completed/)
      expect(told).toMatchObject({
        status: 0,
        batches: [{ status: 'completed', held: 0, used: 4 }],
        files: ['yes.out.csv'],
        spent: 4,
        held: 0,
      })
    })

    test('asks no question with --yes, nor if the cost may exceed --max-credits', async () => {
      const sure = await run('sure', '', '--yes')
      expect(sure.out).not.toContain('[y/N]')
      expect(sure).toMatchObject({ status: 0, spent: 4 })
      const dear = await run('costly', 'y\r', '--max-credits', '3')
      expect(dear.out).toMatch(/It may cost 4 credits, more than --max-credits 3/)
      expect(dear.out).not.toContain('[y/N]')
      expect(dear).toMatchObject({ status: 1, files: [], spent: 0, held: 0 })
    })
  })

  test('run of a batch that may cost too much leaves no file and says how to continue', async () => {
    const { live_key: key } = await makeAccount('pro')
    await writeFile(join(folder, 'dear.csv'), listOf(10))
    const words = ['batch', 'run', 'dear.csv', '--product', 'email', '--out', 'dear-out.csv']
    const run = await cli([...words, '--max-credits', '5', '--key', key])
    expect(run).toMatchObject({ status: 1, out: '' })
    expect(run.err).toMatch(/batch start bat_/)
    expect((await readdir(folder)).filter((name) => name.startsWith('dear-out'))).toEqual([])
    const id = /bat_\w+/.exec(run.err)?.[0] ?? ''
    expect(await json(['batch', 'cancel', id, '--key', key])).toMatchObject({ id })
  })

  test('run refuses a missing file or output folder before anything is uploaded', async () => {
    const { live_key: key } = await makeAccount('pro')
    const words = ['--product', 'email', '--key', key, '--out']
    const list = await cli(['batch', 'run', 'missing.csv', ...words, 'x.csv'])
    expect(list).toMatchObject({ status: 1 })
    expect(list.err).toBe('There is no file missing.csv that can be read.\n')
    await writeFile(join(folder, 'one.csv'), listOf(1))
    const place = await cli(['batch', 'run', 'one.csv', ...words, 'nowhere/x.csv'])
    expect(place.err).toMatch(/^nowhere\/x\.csv cannot be written \(ENOENT\)/)
    expect((await json<BatchPage>(['batch', 'list', '--key', key])).data).toEqual([])
  })

  test('ctrl-C cancels the batch, releases its credits and leaves no file', async () => {
    const { account_id: id, live_key: key } = await makeAccount('pro')
    await cli(['account', 'grant', id, '--credits', '100000'])
    await writeFile(join(folder, 'long.csv'), listOf(50_000))
    const words = ['batch', 'run', 'long.csv', '--product', 'email', '--out', 'long-out.csv']
    const child = spawn(process.execPath, [...NODE_FLAGS, MAIN, ...words, '--key', key], {
      env: environment(),
      cwd: folder,
    })
    let err = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    await untilOutput(child, () => / rows {2}running/.test(err))
    child.kill('SIGINT')
    const [status]: unknown[] = await once(child, 'exit')
    expect(status).toBe(130)
    expect(err).toMatch(/Canceled bat_\w+, \d+ credits used/)
    expect((await readdir(folder)).filter((name) => name.startsWith('long-out'))).toEqual([])
    const page = await json<BatchPage>(['batch', 'list', '--key', key])
    expect(page.data.map((batch) => batch.status)).toEqual(['canceled'])
    expect((await credits(key)).held).toBe(0)
  })
})

describe('doctor', () => {
  test('finds the service, its database, queue and files', async () => {
    const run = await program(['doctor', '--json'], OFFLINE)
    const { findings } = JSON.parse(run.out) as {
      findings: readonly { name: string; status: string; advice: string | null }[]
    }
    const statusOf = (name: string): string | undefined =>
      findings.find((finding) => finding.name === name)?.status
    const kinds = ['email', 'phone', 'ip', 'domain', 'batch'].map((kind) => `worker ${kind}`)
    for (const name of ['settings', 'service', 'database', 'queue', 'files', ...kinds]) {
      expect([name, statusOf(name)]).toEqual([name, 'ok'])
    }
    expect(statusOf('smtp')).toBe('off')
    // No resolver at all is a failure.
    expect(statusOf('dns 127.0.0.1:1')).toBe('failed')
    expect(run.status).toBe(1)
    expect(findings.every(({ status, advice }) => (status === 'ok') === (advice === null))).toBe(
      true,
    )
  })
})

test.for(backends())('doctor checks the queue on $name with only the settings', async (backend) => {
  const { name, redisUrl } = backend
  const findings = async (): Promise<readonly object[]> => {
    const run = await cli(['doctor', '--json'], {
      ...OFFLINE,
      DATA_DIR: folder,
      DATABASE_URL: databaseUrl,
      ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    })
    return (JSON.parse(run.out) as { findings: readonly object[] }).findings
  }
  const empty = { name: 'queue', status: 'ok', detail: `on ${name}, 0 jobs waiting`, advice: null }
  // Jobs of the batches that were canceled before may wait for a moment.
  const off = expect.objectContaining({ name: 'service', status: 'off' })
  await expect.poll(findings).toEqual(expect.arrayContaining([empty, off]))
})

test.for(backends())('doctor on $name reports a provider that workers paused', async (backend) => {
  const { name, redisUrl } = backend
  const settings = {
    databaseUrl,
    redisUrl,
    redisPrefix: `doctor-${name}-${process.pid}`,
    poolSize: 2,
    name: 'test',
    log: { debug() {}, info() {}, warn() {}, error() {} },
  }
  await using connections = await openConnections(settings)
  const value = 'out of credit (status 402)'
  const key = 'hlr:pause:infobip'
  await connections.memory.claim({ key, value, ttlMs: 600_000 })
  const run = await cli(['doctor', '--json'], {
    ...OFFLINE,
    DATA_DIR: folder,
    DATABASE_URL: databaseUrl,
    REDIS_PREFIX: settings.redisPrefix,
    ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
  })
  const { findings } = JSON.parse(run.out) as { findings: readonly object[] }
  expect(findings).toContainEqual(
    expect.objectContaining({ name: 'hlr infobip', status: 'failed', detail: `paused: ${value}` }),
  )
  await connections.memory.delete([key])
})

test('data update without a connection fails and says so for each list', async () => {
  const run = await cli(['data', 'update', '--json'], {
    ...OFFLINE,
    LISTS_DIR: join(folder, 'lists'),
  })
  expect(run.status).toBe(1)
  const { updates } = JSON.parse(run.out) as { updates: readonly { status: string }[] }
  expect(updates.length).toBeGreaterThan(5)
  expect(new Set(updates.map(({ status }) => status))).toEqual(new Set(['failed']))
})

test('wrong usage is reported on standard error with status 2', async () => {
  for (const words of [
    ['account', 'create', '--email', 'a@b.example', '--plan'],
    ['lookup', 'deliverability', 'a@b.example', 'c@d.example', '--phone', '+442079460123'],
    ['batch', 'run', 'x.csv', '--product', 'email', '--out', 'y', '--mapping', '[1]'],
  ]) {
    const run = await program(words, {})
    expect([words, run.status, run.out]).toEqual([words, 2, ''])
    expect(run.err).not.toBe('')
  }
})

async function untilOutput(child: ChildProcess, said: () => boolean): Promise<void> {
  while (!said()) {
    if (child.exitCode !== null) throw new Error('the program ended before')
    await Promise.race([once(child.stderr ?? child, 'data'), once(child, 'exit')])
  }
}

function listOf(count: number): string {
  const rows = Array.from(
    { length: count },
    (_, at) => `user${at}@list${at % 97}.example,User ${at}`,
  )
  return `Work Email,Name\n${rows.join('\n')}\n`
}
