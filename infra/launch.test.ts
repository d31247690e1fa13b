import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
