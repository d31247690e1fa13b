import { execFile, spawnSync } from 'node:child_process'
import { mkdir, mkdtempDisposable, readdir, readFile, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { isCi } from './ci.ts'
import { servingUrlOf } from './postgres.ts'
import type { Account } from './service.ts'
import { isSoak } from './soak.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** The programs of the previous version, with its sources and dependencies. */
export interface PreviousVersion extends AsyncDisposable {
  readonly kind: 'here'
  /** Folder of its sources. */
  readonly root: string
  /** Migrates an empty database to that version, with the owner's role, and creates an account in it. */
  prepare(databaseUrl: string, credits: number): Promise<Account>
}

/** Why the previous version cannot be run here. */
export interface NoPreviousVersion {
  readonly kind: 'absent'
  readonly why: string
}

const SOURCES_MAX_BYTES = 256 * 1_048_576
const FETCH_MS = 60_000

/**
 * Extracts the sources of the previous version, by the first commit in VERSION-COMMIT, from the git
 * history into a temporary folder. Its dependencies are linked from this tree if they are the same;
 * `npm run soak` and CI install them if they are not.
 *
 * @throws in CI if a clone with history lacks the commit, so that the test is never silently
 * skipped
 */
export async function openPreviousVersion(): Promise<PreviousVersion | NoPreviousVersion> {
  const [, commit = ''] = (await readFile(join(ROOT, 'VERSION-COMMIT'), 'utf8')).split(/\s+/)
  if (!hasCommit(commit)) {
    const fetch = git(['fetch', '--quiet', '--no-tags', '--depth=1', 'origin', commit])
    if (!hasCommit(commit)) return lacking(commit, String(fetch.stderr).trim())
  }
  await using stack = new AsyncDisposableStack()
  const root = stack.use(await mkdtempDisposable(join(tmpdir(), 'plumbline-before-'))).path
  const archive = git(['archive', '--format=tar', commit])
  const unpacked = spawnSync('tar', ['-x', '-C', root], { input: archive.stdout })
  if (archive.status !== 0 || unpacked.status !== 0) {
    throw new Error(`commit ${commit} was not unpacked: ${String(unpacked.stderr)}`)
  }
  const others = await otherDependencies(root)
  if (others.length === 0) await linkDependencies(root)
  else if (isSoak() || isCi()) await promisify(execFile)('npm', INSTALL, { cwd: root })
  else {
    const why = `version ${commit} depends on ${others.join(', ')}: npm run soak installs that`
    return { kind: 'absent', why }
  }
  const owned = stack.move()
  return {
    kind: 'here',
    root,
    prepare: (databaseUrl, credits) => prepareDatabase(root, databaseUrl, credits),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The result if the commit is missing: a shallow clone may lack it; `said` is git's message. */
function lacking(commit: string, said: string): NoPreviousVersion {
  const why = `this clone lacks commit ${commit} of VERSION-COMMIT, and its origin does not give it (${said})`
  const isShallow = String(git(['rev-parse', '--is-shallow-repository']).stdout).trim() === 'true'
  if (isCi() && !isShallow) throw new Error(why)
  return { kind: 'absent', why: `${why}: clone with history` }
}

const INSTALL = ['ci', '--ignore-scripts', '--no-audit', '--no-fund']

function git(words: readonly string[]): ReturnType<typeof spawnSync> {
  return spawnSync('git', words, { cwd: ROOT, maxBuffer: SOURCES_MAX_BYTES, timeout: FETCH_MS })
}

function hasCommit(commit: string): boolean {
  return git(['cat-file', '-e', `${commit}^{commit}`]).status === 0
}

interface Locked {
  readonly version?: string
  readonly dev?: boolean
  readonly link?: boolean
}

/** Production dependencies whose version differs from that in this tree. */
async function otherDependencies(root: string): Promise<readonly string[]> {
  const [theirs, ours] = await Promise.all([root, ROOT].map(readLock))
  return Object.entries(theirs ?? {}).flatMap(([path, { version, dev, link }]) => {
    if (!path.includes('node_modules/') || dev === true || link === true) return []
    return ours?.[path]?.version === version
      ? []
      : [`${path.split('node_modules/').at(-1)}@${version}`]
  })
}

/** Safe because npm wrote it, in its documented format. */
async function readLock(root: string): Promise<Readonly<Record<string, Locked>>> {
  const text = await readFile(join(root, 'package-lock.json'), 'utf8')
  return (JSON.parse(text) as { packages: Readonly<Record<string, Locked>> }).packages
}

/** Links third-party packages from this tree, and the project's own from the previous version. */
async function linkDependencies(root: string): Promise<void> {
  const target = join(root, 'node_modules')
  const here = join(ROOT, 'node_modules')
  await mkdir(join(target, '@plumbline'), { recursive: true })
  for (const name of await readdir(here)) {
    if (name !== '@plumbline') await symlink(join(here, name), join(target, name))
  }
  for (const manifest of await manifestsOf(root)) {
    // Safe because npm refuses a manifest of another form.
    const { name } = JSON.parse(await readFile(manifest, 'utf8')) as { name: string }
    await symlink(dirname(manifest), join(target, name))
  }
}

async function manifestsOf(root: string): Promise<readonly string[]> {
  const found = await Promise.all(
    ['packages', 'services'].map(async (folder) =>
      (await readdir(join(root, folder))).map((name) => join(root, folder, name, 'package.json')),
    ),
  )
  return found.flat()
}

/** Migrates in a child process, since modules of both versions would share state. */
async function prepareDatabase(
  root: string,
  databaseUrl: string,
  credits: number,
): Promise<Account> {
  const from = (path: string): string =>
    JSON.stringify(pathToFileURL(join(root, 'packages', path)).href)
  const program = `
    import { createAccount } from ${from('db/src/accounts.ts')}
    import { openDatabase } from ${from('db/src/database.ts')}
    import { createKey } from ${from('db/src/keys.ts')}
    import { migrate } from ${from('db/src/migrate.ts')}
    import { grantServing } from ${from('db/src/serving-role.ts')}
    import { grantGoodwill } from ${from('metering/src/grant.ts')}
    import { migrateQueue } from ${from('queue/src/postgres-queues.ts')}
    const [url, serving, credits] = process.argv.slice(1)
    await using db = openDatabase({ url, poolSize: 2, applicationName: 'test' })
    await migrate(db)
    await migrateQueue(url)
    await grantServing(db, serving)
    const { id } = await createAccount(db, { email: 'test@example.com', plan: 'pro' })
    await grantGoodwill(db, id, Number(credits), 'test:' + id)
    const live = await createKey(db, { accountId: id, mode: 'live', service: 'svc' })
    const test = await createKey(db, { accountId: id, mode: 'test', service: 'svc' })
    console.log(JSON.stringify({ id, liveKey: live.key, testKey: test.key }))`
  const words = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program]
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...words,
    databaseUrl,
    servingUrlOf(databaseUrl),
    String(credits),
  ])
  // Safe because the program above prints it.
  return JSON.parse(stdout) as Account
}
