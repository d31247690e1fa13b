import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown, type OutputAsset, type OutputChunk } from 'rolldown'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** Folder of the bundles; within the project, so that modules outside of a bundle can be resolved. */
const BUNDLES = join(ROOT, 'node_modules', '.cache', 'test-programs')

const DAY_MS = 86_400_000

/** The programs that tests start, by the names of their bundles. */
const SOURCES = {
  api: 'services/api/src/main.ts',
  real: 'services/worker/src/main.ts',
  instant: 'packages/testkit/src/instant-worker.ts',
  simnet: 'test/simnet/main.ts',
  cli: 'services/cli/src/main.ts',
} as const

export type Program = keyof typeof SOURCES

/** Environment variable with the folder of the bundles; unset: programs start from their sources. */
const PLACE = 'TEST_PROGRAMS'

/** Packages that programs import on demand, which are not bundled. */
const LOADED_LATER = /^@(aws-sdk|smithy|bull-board|opentelemetry|modelcontextprotocol)\//

/**
 * Bundles each program that tests start into a few files: a start from 1,500 sources takes three times
 * as much processor time, and a run of tests has some hundred starts. Bundles are built for each run, so
 * that they are never outdated; each module has the URL of its source, since SQL files, lists and worker
 * threads are located by it. `npm start` and `npm run demo` never use bundles.
 */
export async function bundlePrograms(): Promise<void> {
  const bundle = await rolldown({
    input: SOURCES,
    cwd: ROOT,
    platform: 'node',
    external: LOADED_LATER,
    plugins: [{ name: 'place-of-source', transform: withPlaceOfSource }],
  })
  const { output } = await bundle.generate({
    format: 'esm',
    // This extension marks modules; otherwise Node would parse each file to detect them.
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
  })
  await bundle.close()
  const hash = createHash('sha256')
  for (const file of output) hash.update(contentOf(file))
  // Equal bundles have the same path in each run, so that Node's compile cache is reused.
  const dir = join(BUNDLES, hash.digest('hex').slice(0, 16))
  if (!existsSync(dir)) await writeBundle(dir, output)
  process.env[PLACE] = dir
  await removeOld(dir)
}

/**
 * The file to start a program from; for another version of the project, its source below `root`.
 */
export function fileOfProgram(program: Program, root?: string): string {
  const dir = process.env[PLACE]
  if (dir === undefined || root !== undefined) return join(root ?? ROOT, SOURCES[program])
  return join(dir, `${program}.mjs`)
}

function withPlaceOfSource(code: string, id: string): { code: string; map: null } | undefined {
  if (!code.includes('import.meta.url')) return undefined
  const place = JSON.stringify(pathToFileURL(id).href)
  return { code: code.replaceAll('import.meta.url', place), map: null }
}

function contentOf(file: OutputChunk | OutputAsset): string | Uint8Array {
  return file.type === 'chunk' ? file.code : file.source
}

/** Writes to a temporary path first, since another run may read the bundle meanwhile. */
async function writeBundle(
  dir: string,
  output: readonly (OutputChunk | OutputAsset)[],
): Promise<void> {
  const beside = `${dir}.${process.pid}`
  for (const file of output) {
    const path = join(beside, file.fileName)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, contentOf(file))
  }
  try {
    await rename(beside, dir)
  } catch (error) {
    if (!existsSync(dir)) throw error
    await rm(beside, { recursive: true })
  }
}

async function removeOld(used: string): Promise<void> {
  for (const name of await readdir(BUNDLES)) {
    const dir = join(BUNDLES, name)
    if (dir === used) continue
    const { mtimeMs } = await stat(dir)
    if (mtimeMs < Date.now() - DAY_MS) await rm(dir, { recursive: true, force: true })
  }
}
