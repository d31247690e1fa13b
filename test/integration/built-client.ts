import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildJavaScriptClient } from '../../infra/clients/javascript-client.ts'

/** The built client package, in a temporary folder. */
export interface BuiltClient extends AsyncDisposable {
  readonly folder: string
}

/** Builds the package as customers get it. */
export async function buildClient(): Promise<BuiltClient> {
  const folder = await mkdtemp(join(tmpdir(), 'plumbline-client-'))
  await buildJavaScriptClient(folder)
  return {
    folder,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
