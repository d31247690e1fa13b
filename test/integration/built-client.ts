import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildJavaScriptClient } from '../../infra/clients/javascript-client.ts'

/** The client package in a folder of a test's own. */
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
