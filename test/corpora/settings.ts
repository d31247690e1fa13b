import { resolve } from 'node:path'
import type { Environment } from '@plumbline/runtime/settings'
import type { PredictorSettings } from './predictors.ts'

/** The settings of predictions from the environment; an empty variable counts as unset. */
export function predictorSettings(environment: Environment, root: string): PredictorSettings {
  return {
    root: resolve(root),
    cityDb: environment['IP_CITY_DB'] || undefined,
    asnDb: environment['IP_ASN_DB'] || undefined,
    listsDir: environment['LISTS_DIR'] || null,
  }
}
