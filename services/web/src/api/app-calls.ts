import { APP_API, APP_PATHS, type AppRouteName } from '@plumbline/contract/app/paths'
import type { AppAnswer, AppBody } from '@plumbline/contract/app/shapes'
import { callJson, type JsonCallOptions } from './http.ts'

/** What a call of the app's own routes may say beside its body. */
interface AppCallOptions extends JsonCallOptions {
  /** What stands in the path in place of `:id` and the like. */
  readonly at?: string
}

/** Calls a route of the app's own by its name. Rejects with `RefusedCall`. */
export async function callApp<N extends AppRouteName>(
  name: N,
  body?: AppBody<N>,
  { at = '', ...options }: AppCallOptions = {},
): Promise<AppAnswer<N>> {
  const { method, path } = APP_PATHS[name]
  const filled = path.replace(/:[a-z]+/, encodeURIComponent(at))
  return await callJson<AppAnswer<N>>(method, `${APP_API}${filled}`, body, options)
}
