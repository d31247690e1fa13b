import { resolve } from 'node:path'
import type { Command } from 'commander'
import { updatedListsDir } from '@plumbline/datasets/lists-dir'
import { isMissing } from '@plumbline/datasets/update'
import { fetchBounded } from '@plumbline/net/http'
import { engineSettings } from '@plumbline/runtime/engine-settings'
import { readSettings } from '@plumbline/runtime/settings'
import { storeSettings } from '@plumbline/runtime/store-settings'
import { z } from 'zod'
import { jsonOption, webAddress } from '../arguments.ts'
import { openNetwork } from '../network.ts'
import { writeJson, type Shell } from '../shell.ts'
import { table } from '../table.ts'

const { DATA_DIR } = storeSettings
const { IP_ASN_DB, IP_CITY_DB, LISTS_DIR, RDAP_BOOTSTRAP_URL } = engineSettings
const schema = z.object({ DATA_DIR, IP_ASN_DB, IP_CITY_DB, LISTS_DIR, RDAP_BOOTSTRAP_URL })

/**
 * `data update`: fetches the public reference lists, the list of RDAP servers, and the IP databases
 * unless the settings name files; a list that cannot be fetched or is implausible is not replaced.
 */
export function addDataUpdate(parent: Command, shell: Shell): void {
  parent
    .command('update')
    .description('fetch the public lists and IP databases into LISTS_DIR, or lists below DATA_DIR')
    .option('--mirror <url>', 'fetch https://host/path as <url>/host/path', webAddress)
    .addOption(jsonOption())
    .action((options: UpdateChoice) => run(shell, options))
}

interface UpdateChoice {
  readonly json: boolean
  readonly mirror?: string
}

async function run(shell: Shell, { json, mirror }: UpdateChoice): Promise<void> {
  const settings = readSettings(schema, shell.environment)
  const dir = resolve(updatedListsDir(settings.LISTS_DIR, settings.DATA_DIR))
  const network = openNetwork(shell.environment)
  const told = (fields: object, detail: string): void => {
    const file = 'file' in fields ? `${String(fields.file)}: ` : ''
    shell.tell(`${file}${detail}\n`)
  }
  // The lists take longer to load than other commands take to run.
  const { updateAll } = await import('@plumbline/datasets/update-all')
  const updates = await updateAll(
    {
      dir,
      fetch: (request) => fetchBounded({ ...request, ...network }),
      log: { info: told, warn: told },
      signal: shell.stop,
    },
    {
      rdapUrl: settings.RDAP_BOOTSTRAP_URL,
      cityDb: settings.IP_CITY_DB,
      asnDb: settings.IP_ASN_DB,
      mirror,
    },
  )
  const bad = updates.filter(isMissing)
  if (bad.length > 0) shell.fail()
  if (json) {
    writeJson(shell, { dir, updates })
    return
  }
  const rows = updates.map(({ file, status, count }) => [file, status, String(count)])
  shell.write(table(['list', 'status', 'entries'], rows, shell))
  if (bad.length > 0) shell.tell(`\n${whatStays(bad.length, updates.length)}\n`)
}

function whatStays(badCount: number, count: number): string {
  const met =
    badCount === count ? 'None of the lists came' : `${badCount} of ${count} lists did not come`
  return `${met}; what was there before stays in use. "doctor" tells what can be reached.`
}
