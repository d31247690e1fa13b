import { z } from 'zod'
import { KEY_MODES } from './plans.ts'

/** A key as it is listed: never the key itself. */
export const keyView = z.strictObject({
  id: z.string(),
  mode: z.enum(KEY_MODES),
  prefix: z.string().meta({ description: 'The key up to its random part.' }),
  last4: z.string(),
  created_at: z.iso.datetime(),
  last_used_at: z.iso.datetime().nullable().meta({ description: 'To the minute.' }),
  revoked_at: z.iso.datetime().nullable(),
})
/** A key as it is listed. */
export type KeyView = z.infer<typeof keyView>

/** The keys that an account has had, newest first. */
export const keyList = z.strictObject({ data: z.array(keyView) })
/** The keys of an account. */
export type KeyList = z.infer<typeof keyList>
