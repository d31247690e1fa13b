import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ROOT } from '../run.ts'
import { manifestText } from './manifests.ts'

// npm run kubernetes [-- FILE]: writes the manifests of this version, into infra/kubernetes by default.

/** Safe because npm rejects a manifest of another form. */
const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string
}
const path = resolve(process.argv[2] ?? join(ROOT, 'infra/kubernetes/plumbline.yaml'))
await writeFile(path, manifestText(version))
process.stdout.write(`${path}\n`)
