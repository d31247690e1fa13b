import { loadSdk, SDK_MISSING } from '@plumbline/mcp/sdk'
import { serveStdio } from '@plumbline/mcp/stdio'
import type { Command } from 'commander'
import { keyOption } from '../arguments.ts'
import { Refusal } from '../refusal.ts'
import { openServiceClient } from '../service.ts'
import type { Shell } from '../shell.ts'

/** `mcp`: tools for a model, over standard input and output. */
export function addMcp(parent: Command, shell: Shell): void {
  parent
    .command('mcp')
    .description('serve lookups and batches as tools of the Model Context Protocol, over stdio')
    .addOption(keyOption())
    .action(async ({ key }: { readonly key?: string }) => {
      const { input, write, tell, stop } = shell
      if (input === undefined) throw new Refusal('There is no standard input to read from.')
      const sdk = await loadSdk()
      if (sdk === undefined) throw new Refusal(SDK_MISSING)
      const client = await openServiceClient(shell.environment, key)
      await serveStdio(sdk, client, { input, write, tell, stop })
    })
}
