import { readAwsSecrets } from '@plumbline/runtime/aws-secrets'
import type { Environment } from '@plumbline/runtime/settings'
import { openNetwork } from '../network.ts'
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

/** Time-out of all checks that use the network. */
const NETWORK_TIMEOUT_MS = 30_000

/** Examines everything; if the settings cannot be read, that is the only finding. */
export async function examine(
  environment: Environment,
  stop: AbortSignal,
): Promise<readonly Finding[]> {
  return await attempt('settings', 'Correct the variables that are named.', async () => {
    readAwsSecrets(environment)
    const cli = cliSettings(environment)
    const settings = doctorSettings(environment)
    const network = openNetwork(environment)
    const location = await findService(cli)
    const signal = AbortSignal.any([stop, AbortSignal.timeout(NETWORK_TIMEOUT_MS)])
    const parts = await Promise.all([
      examineStores(location, settings),
      examineWorkers(location),
      examineLedger(location),
      examineData(location, settings),
      examineDns(network, signal),
      examineMail(network, settings, signal),
      examineRegistries(network, settings, signal),
      examineHlr(network, settings, signal),
    ])
    return [ok('settings', 'readable'), ...parts.flat()]
  })
}
