import { resolve } from 'node:path'
import type { Command } from 'commander'
import { updatedListsDir } from '@plumbline/engines/lists/place'
import { fetchBounded, type FetchRequest } from '@plumbline/engines/net/http'
import { engineSettings } from '@plumbline/runtime/engine-settings'
import { readSettings } from '@plumbline/runtime/settings'
import { storeSettings } from '@plumbline/runtime/store-settings'
import { z } from 'zod'
import { jsonOption } from '../arguments.ts'
import { openOutside } from '../outside.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

const { DATA_DIR } = storeSettings
const { LISTS_DIR, RDAP_BOOTSTRAP_URL } = engineSettings
const schema = z.object({ DATA_DIR, LISTS_DIR, RDAP_BOOTSTRAP_URL })

/**
 * `data update`: fetches the public lists and that of RDAP servers; one that cannot be fetched stays
 * as it is.
 */
export function addDataUpdate(parent: Command, shell: Shell): void {
  parent
    .command('update')
    .description('fetch the public lists into LISTS_DIR, or lists below DATA_DIR')
    .addOption(jsonOption())
    .action((options: { readonly json: boolean }) => run(shell, options))
}

async function run(shell: Shell, { json }: { readonly json: boolean }): Promise<void> {
  const settings = readSettings(schema, shell.environment)
  const dir = resolve(updatedListsDir(settings.LISTS_DIR, settings.DATA_DIR))
  const outside = openOutside(shell.environment)
  const told = (fields: object, detail: string): void => {
    const file = 'file' in fields ? `${String(fields.file)}: ` : ''
    shell.tell(`${file}${detail}\n`)
  }
  // The lists take longer to load than other commands take to run.
  const { updateLists } = await import('@plumbline/engines/lists/update')
  const { updateRdapList } = await import('@plumbline/engines/domain/rdap-update')
  const options = {
    dir,
    fetch: (request: Omit<FetchRequest, 'egress' | 'resolver'>) =>
      fetchBounded({ ...request, ...outside }),
    log: { info: told, warn: told },
    signal: shell.stop,
  }
  const lists = await updateLists(options)
  const updates = [...lists, await updateRdapList({ ...options, url: settings.RDAP_BOOTSTRAP_URL })]
  const bad = updates.filter(({ status }) => status === 'failed' || status === 'refused')
  if (bad.length > 0) shell.fail()
  if (json) {
    writeJson(shell, { dir, updates })
    return
  }
  const rows = updates.map(({ file, status, count }) => [file, status, String(count)])
  shell.write(table(['list', 'status', 'entries'], rows))
  if (bad.length > 0) shell.tell(`\n${whatStays(bad.length, updates.length)}\n`)
}

function whatStays(badCount: number, count: number): string {
  const met =
    badCount === count ? 'None of the lists came' : `${badCount} of ${count} lists did not come`
  return `${met}; what was there before stays in use. "doctor" tells what can be reached.`
}
