import { hlrLookups } from './hlr-lookups.ts'
import { infobip } from './infobip.ts'
import { messente } from './messente.ts'
import type { HlrAdapter } from './provider.ts'
import type { HlrProviderName } from '@plumbline/ports/provider-status'
import { twilio } from './twilio.ts'
import { vonageIdentity } from './vonage-identity.ts'
import { vonage } from './vonage.ts'

/** The adapter of each provider. */
export const HLR_ADAPTERS: Readonly<Record<HlrProviderName, HlrAdapter>> = {
  'hlr-lookups': hlrLookups,
  infobip,
  twilio,
  vonage,
  'vonage-identity': vonageIdentity,
  messente,
}
