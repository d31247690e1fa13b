import { z } from 'zod'
import { keyView } from '../keys.ts'
import { KEY_MODES } from '../plans.ts'

/** `GET keys`: every key that the account has had, newest first. */
export const keyList = z.strictObject({
  data: z.array(keyView),
  /** Whether the plan has test keys. */
  test_keys: z.boolean(),
})

/** `POST keys`: creates the key of a mode and revokes the older one. */
export const keyRequest = z.strictObject({ mode: z.enum(KEY_MODES) })

/** The new key, which cannot be shown again. */
export const newKeyResponse = z.strictObject({
  key: z.string(),
  record: keyView,
  /** Id of the key that was revoked; null if there was none. */
  replaced: z.string().nullable(),
})
/** A new key. */
export type NewKeyResponse = z.infer<typeof newKeyResponse>

/** The mode of a key as a part of a path. */
export const keyMode = z.enum(KEY_MODES)
