import { readAwsSecrets } from '@plumbline/runtime/aws-secrets'
import type { Environment } from '@plumbline/runtime/settings'
import { openOutside } from '../outside.ts'
import { findService } from '../service.ts'
import { cliSettings } from '../settings.ts'
import { examineData } from './data.ts'
import { examineDns } from './dns.ts'
import { attempt, ok, type Finding } from './finding.ts'
import { examineHlr } from './hlr.ts'
import { examineLedger } from './ledger.ts'
import { examineMail } from './mail.ts'
import { examineRegistries } from './registries.ts'
import { doctorSettings } from './settings.ts'
import { examineStores } from './stores.ts'
import { examineWorkers } from './workers.ts'

/** Most time that a look at the outside takes. */
const OUTSIDE_MS = 30_000

/** Looks at everything; settings that cannot be read are the one finding then. */
export async function examine(
  environment: Environment,
  stop: AbortSignal,
): Promise<readonly Finding[]> {
  return await attempt('settings', 'Correct the variables that are named.', async () => {
    readAwsSecrets(environment)
    const cli = cliSettings(environment)
    const settings = doctorSettings(environment)
    const outside = openOutside(environment)
    const place = await findService(cli)
    const signal = AbortSignal.any([stop, AbortSignal.timeout(OUTSIDE_MS)])
    const parts = await Promise.all([
      examineStores(place, settings),
      examineWorkers(place),
      examineLedger(place),
      examineData(place, settings),
      examineDns(outside, signal),
      examineMail(outside, settings, signal),
      examineRegistries(outside, settings, signal),
      examineHlr(outside, settings, signal),
    ])
    return [ok('settings', 'readable'), ...parts.flat()]
  })
}
