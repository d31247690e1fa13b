import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, cp, mkdir, mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { ROOT } from './run.ts'

/** Prints its data directory and runs until SIGTERM. */
const PROGRAM = `
process.on('SIGTERM', () => { console.log('stopped'); process.exit(0) })
setInterval(() => {}, 1_000)
console.log(process.env.DATA_DIR)
`

test('the program stops when the shell in which npm runs scripts dies', async () => {
  await using project = await makeProject()
  // As with npm, the shell stays the parent and forwards no signal.
  const shell = spawn('sh', ['-c', `"${process.execPath}" infra/launch.mjs cli; true`], {
    cwd: project.root,
    env: { ...process.env, npm_lifecycle_event: 'cli' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [first] = (await once(shell.stdout, 'data')) as [Buffer]
  expect(first.toString()).not.toContain('stopped')
  shell.kill('SIGTERM')
  // The pipe closes when the last process that has it open has ended.
  expect(await text(shell.stdout)).toContain('stopped')
})

test.each([
  ['unset', '', (root: string) => join(root, '.data')],
  ['set', 'elsewhere', () => 'elsewhere'],
])(
  'with DATA_DIR %s, the data directory does not depend on the working directory',
  async (_, given, expected) => {
    await using project = await makeProject()
    const launcher = spawn(process.execPath, [join(project.root, 'infra/launch.mjs'), 'cli'], {
      cwd: tmpdir(),
      env: { ...process.env, DATA_DIR: given, INIT_CWD: tmpdir() },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [first] = (await once(launcher.stdout, 'data')) as [Buffer]
    launcher.kill('SIGTERM')
    await once(launcher, 'exit')
    expect(first.toString().trim()).toBe(expected(project.root))
  },
)

test('the web app is built for every user, whatever the umask, and again if it was not', async () => {
  await using project = await makeProject()
  const { root } = project
  const vite = join(root, 'node_modules/vite/bin')
  await mkdir(vite, { recursive: true })
  await mkdir(join(root, 'services/web'), { recursive: true })
  await writeFile(join(vite, 'vite.js'), VITE)
  const page = join(root, 'services/web/dist/assets/index.html')
  const build = async (): Promise<number> => {
    const script = `import { buildWeb } from './infra/build-web.mjs'
      console.log(buildWeb(${JSON.stringify(root)}, process.execPath) ?? 'built')`
    const shell = spawn(
      'sh',
      ['-c', 'umask 077; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', script],
      { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
    )
    expect(await text(shell.stdout)).toBe('built\n')
    return (await stat(page)).mode & 0o777
  }
  expect(await build()).toBe(0o644)
  expect((await stat(dirname(page))).mode & 0o777).toBe(0o755)
  const { ino } = await stat(page)
  await build()
  expect((await stat(page)).ino).toBe(ino)
  await chmod(join(root, 'services/web/dist/index.html'), 0o600)
  await chmod(page, 0o600)
  expect(await build()).toBe(0o644)
})

test('dependencies are installed for every user, and the program has the umask of its start', async () => {
  await using project = await makeProject()
  const { root } = project
  await rm(join(root, 'node_modules/.installed-lock'))
  await mkdir(join(root, 'bin'))
  await writeFile(join(root, 'bin/npm'), '#!/bin/sh\numask >&2\n', { mode: 0o755 })
  await writeFile(
    join(root, 'services/cli/src/main.ts'),
    'console.log(process.umask().toString(8))\n',
  )
  const launcher = spawn(
    'sh',
    ['-c', 'umask 077; exec "$@"', 'sh', process.execPath, 'infra/launch.mjs', 'cli'],
    { cwd: root, env: { ...process.env, PATH: `${join(root, 'bin')}:${process.env['PATH']}` } },
  )
  const [installed, ran] = await Promise.all([text(launcher.stderr), text(launcher.stdout)])
  expect(installed).toMatch(/^Installing dependencies .*\n0?022\n$/)
  expect(ran).toBe('77\n')
})

test('dependencies can be installed before a program runs, which does not install them again', async () => {
  await using project = await makeProject()
  const { root } = project
  await rm(join(root, 'node_modules/.installed-lock'))
  await mkdir(join(root, 'bin'))
  await writeFile(join(root, 'bin/npm'), '#!/bin/sh\necho installed >&2\n', { mode: 0o755 })
  await writeFile(join(root, 'services/cli/src/main.ts'), `console.log('ran')\n`)
  const launch = async (command: string): Promise<readonly string[]> => {
    const launcher = spawn(process.execPath, ['infra/launch.mjs', command], {
      cwd: root,
      env: { ...process.env, PATH: `${join(root, 'bin')}:${process.env['PATH']}` },
    })
    return await Promise.all([text(launcher.stderr), text(launcher.stdout)])
  }
  expect(await launch('install')).toEqual([expect.stringMatching(/\ninstalled\n$/), ''])
  expect(await launch('cli')).toEqual(['', 'ran\n'])
})

/** Writes a page and one in a folder. */
const VITE = `
const { mkdirSync, writeFileSync } = require('node:fs')
const out = process.argv[process.argv.indexOf('--outDir') + 1]
mkdirSync(out + '/assets', { recursive: true })
for (const name of ['index.html', 'assets/index.html']) writeFileSync(out + '/' + name, '')
`

/** A project with the launcher and one program, and with its dependencies installed. */
async function makeProject(): Promise<AsyncDisposable & { readonly root: string }> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'launch-')))
  const lock = '{}'
  await mkdir(join(root, 'services/cli/src'), { recursive: true })
  await mkdir(join(root, 'node_modules'))
  for (const name of ['launch.mjs', 'build-web.mjs']) {
    await cp(join(ROOT, 'infra', name), join(root, 'infra', name))
  }
  await writeFile(join(root, 'package-lock.json'), lock)
  const stamp = createHash('sha256').update(lock).digest('hex')
  await writeFile(join(root, 'node_modules/.installed-lock'), stamp)
  await writeFile(join(root, 'services/cli/src/main.ts'), PROGRAM)
  return { root, [Symbol.asyncDispose]: () => rm(root, { recursive: true }) }
}
