import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect, test } from 'vitest'
import { exitOf, readPassword } from './embedded-cluster.ts'
import { startEmbeddedPostgres } from './embedded.ts'

async function openDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'plumbline-embedded-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

async function ask(url: string, statement: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('the condition did not come about in a minute')
    await delay(20)
  }
}

/** The server's process id, from the file that exists while it runs. */
async function serverPid(directory: string): Promise<number | undefined> {
  for (const base of ['postgres/server', 'postgres']) {
    const text = await readFile(join(directory, base, 'data/postmaster.pid'), 'utf8').catch(
      () => '',
    )
    if (text !== '') return Number(text.split('\n')[0])
  }
  return undefined
}

/** Starts the server from another process, which then does nothing. */
async function startElsewhere(directory: string): Promise<{ child: ChildProcess; url: string }> {
  const program = `
    import { startEmbeddedPostgres } from ${JSON.stringify(new URL('./embedded.ts', import.meta.url).href)}
    const server = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(directory)} })
    process.stdout.write(server.url)
    setInterval(() => undefined, 1_000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((said, failed) => {
    child.stdout?.once('data', (piece: Buffer) => said(piece.toString()))
    child.once('exit', (code) => failed(new Error(`the process ended with ${code}`)))
  })
  return { child, url }
}

test('stored data is there after the next start', async () => {
  await using directory = await openDirectory()
  const first = await startEmbeddedPostgres({ dataDir: directory.path })
  await ask(first.url, 'create table kept as select 42 as answer')
  await first.stop()
  await expect(ask(first.url, 'select')).rejects.toThrow(/ECONNREFUSED/)
  const second = await startEmbeddedPostgres({ dataDir: directory.path })
  try {
    expect(await ask(second.url, 'select answer from kept')).toEqual([{ answer: 42 }])
    expect(await ask(second.url, 'show fsync')).toEqual([{ fsync: 'on' }])
  } finally {
    await second.stop()
  }
})

test('what a kill has left of the first start is removed by the next', async () => {
  await using directory = await openDirectory()
  const { child } = await startElsewhere(directory.path)
  const ended = once(child, 'exit')
  const base = (await readdir(join(directory.path, 'postgres'))).includes('server')
    ? 'postgres/server'
    : 'postgres'
  const beside = (name: string): string => join(directory.path, base, name)
  await mkdir(beside('data.aB3dE6gH.new/base'), { recursive: true })
  await writeFile(beside('data.aB3dE6gH.new.password'), 'secret')
  await mkdir(beside('data.old'))
  child.kill('SIGKILL')
  await ended
  const server = await startEmbeddedPostgres({ dataDir: directory.path })
  const left = await readdir(join(directory.path, base))
  await server.stop()
  expect(left.filter((name) => name.startsWith('data')).toSorted()).toEqual(['data', 'data.old'])
})

test('a second start on the same directory joins the server, and does not stop it', async () => {
  await using directory = await openDirectory()
  const owner = await startEmbeddedPostgres({ dataDir: directory.path })
  try {
    const guest = await startEmbeddedPostgres({ dataDir: directory.path })
    expect(guest).toMatchObject({ joined: true, url: owner.url })
    await guest.stop()
    expect(await ask(owner.url, 'select 1 as one')).toEqual([{ one: 1 }])
  } finally {
    await owner.stop()
  }
})

test('concurrent starts share one server', async () => {
  await using directory = await openDirectory()
  const servers = await Promise.all(
    Array.from({ length: 3 }, () => startEmbeddedPostgres({ dataDir: directory.path })),
  )
  try {
    expect(servers.filter((server) => !server.joined)).toHaveLength(1)
    expect(new Set(servers.map((server) => server.url)).size).toBe(1)
  } finally {
    for (const server of servers) await server.stop()
  }
})

test('a process that has ended is not waited for', async () => {
  const child = spawn(process.execPath, ['-e', 'process.exit(3)'])
  await once(child, 'exit')
  expect(await exitOf(child)).toBe(3)
})

test('the server ends when its owner is killed, and the next start works', async () => {
  await using directory = await openDirectory()
  const { child, url } = await startElsewhere(directory.path)
  await ask(url, 'create table kept as select 42 as answer')
  child.kill('SIGKILL')
  // A start right after its death may still find the server running.
  await until(async () => (await serverPid(directory.path)) === undefined)
  const next = await startEmbeddedPostgres({ dataDir: directory.path })
  try {
    expect(next.joined).toBe(false)
    expect(await ask(next.url, 'select answer from kept')).toEqual([{ answer: 42 }])
  } finally {
    await next.stop()
  }
  await until(async () => (await serverPid(directory.path)) === undefined)
})

test('a server that was killed is recovered with all committed data', async () => {
  await using directory = await openDirectory()
  const first = await startEmbeddedPostgres({ dataDir: directory.path })
  await ask(first.url, 'create table kept as select 42 as answer')
  const pid = await serverPid(directory.path)
  if (pid === undefined) throw new Error('the server has no process file')
  process.kill(pid, 'SIGKILL')
  await until(async () =>
    ask(first.url, 'select').then(
      () => false,
      () => true,
    ),
  )
  const second = await startEmbeddedPostgres({ dataDir: directory.path })
  try {
    expect(await ask(second.url, 'select answer from kept')).toEqual([{ answer: 42 }])
  } finally {
    await second.stop()
    await first.stop()
  }
})

test('a process file with the id of another running program does not prevent the start', async () => {
  await using directory = await openDirectory()
  const first = await startEmbeddedPostgres({ dataDir: directory.path })
  await first.stop()
  const base = await stat(join(directory.path, 'postgres/server')).then(
    () => 'postgres/server',
    () => 'postgres',
  )
  await writeFile(
    join(directory.path, base, 'data/postmaster.pid'),
    `${process.ppid}\n${directory.path}\n1\n1\n\n127.0.0.1\n0 0\nready\n`,
  )
  const second = await startEmbeddedPostgres({ dataDir: directory.path })
  try {
    expect(await ask(second.url, 'select 42 as answer')).toEqual([{ answer: 42 }])
  } finally {
    await second.stop()
  }
})

test.runIf(process.getuid?.() === 0)(
  'if the server’s user cannot reach the directory, the data is stored elsewhere and a warning says so',
  async () => {
    await using directory = await openDirectory()
    // The temporary directory itself is closed to others, and is not the configured one.
    const dataDir = join(directory.path, 'data')
    const warnings: string[] = []
    const warn = (message: string) => warnings.push(message)
    const first = await startEmbeddedPostgres({ dataDir, warn })
    const link = join(dataDir, 'postgres/elsewhere')
    try {
      await ask(first.url, 'create table kept as select 42 as answer')
      await first.stop()
      const second = await startEmbeddedPostgres({ dataDir, warn })
      expect(await ask(second.url, 'select answer from kept')).toEqual([{ answer: 42 }])
      await second.stop()
      expect(warnings).toEqual([expect.stringContaining(await readlink(link))])
    } finally {
      await removeElsewhere(link)
    }
  },
)

test.runIf(process.getuid?.() === 0)(
  'a copy of a directory whose database is stored elsewhere is refused, and starts with a copy of that',
  async () => {
    await using directory = await openDirectory()
    const dataDir = join(directory.path, 'data')
    const first = await startEmbeddedPostgres({ dataDir })
    const link = join(dataDir, 'postgres/elsewhere')
    const outside = await readlink(link)
    try {
      await ask(first.url, 'create table kept as select 42 as answer')
      await first.stop()
      const copy = join(directory.path, 'copy')
      await cp(dataDir, copy, { recursive: true, verbatimSymlinks: true })
      await expect(startEmbeddedPostgres({ dataDir: copy })).rejects.toThrow(
        /copy that folder, too/,
      )
      const copied = `${outside}-copy`
      // With the owners of its files, which `cp` of Node does not keep.
      await promisify(execFile)('cp', ['-a', outside, copied])
      await rm(join(copy, 'postgres/elsewhere'))
      await symlink(copied, join(copy, 'postgres/elsewhere'))
      const second = await startEmbeddedPostgres({ dataDir: copy })
      await ask(second.url, 'drop table kept')
      await second.stop()
      await removeElsewhere(join(copy, 'postgres/elsewhere'))
      const moved = join(directory.path, 'moved')
      await rename(dataDir, moved)
      const third = await startEmbeddedPostgres({ dataDir: moved })
      expect(await ask(third.url, 'select answer from kept')).toEqual([{ answer: 42 }])
      await third.stop()
      await removeElsewhere(join(moved, 'postgres/elsewhere'))
      await expect(startEmbeddedPostgres({ dataDir: moved })).rejects.toThrow(/which is missing/)
    } finally {
      await rm(outside, { recursive: true, force: true })
    }
  },
)

/** Removes the database that a link leads to. */
async function removeElsewhere(link: string): Promise<void> {
  const outside = await readlink(link)
  await rm(outside, { recursive: true, force: true })
  await rm(`${outside}.home`, { force: true })
}

test('a disk that is full at the first start leaves no password that prevents the next one', async () => {
  await using directory = await openDirectory()
  const program = `
    import { readPassword } from ${JSON.stringify(new URL('./embedded-cluster.ts', import.meta.url).href)}
    await readPassword(${JSON.stringify(directory.path)}, 'password')`
  // Files can be created there and hold no byte, and the process dies of the first.
  const child = spawn(
    '/bin/sh',
    ['-c', 'ulimit -f 0; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', program],
    {
      stdio: 'ignore',
    },
  )
  expect(await once(child, 'exit')).not.toEqual([0, null])
  const password = await readPassword(directory.path, 'password')
  expect(password).toHaveLength(32)
  expect(await readPassword(directory.path, 'password')).toBe(password)
})
