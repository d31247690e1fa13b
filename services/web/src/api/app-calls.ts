import { APP_API, APP_PATHS, type AppRouteName } from '@plumbline/contract/app/paths'
import type { AppResponse, AppBody } from '@plumbline/contract/app/shapes'
import { callJson, type JsonCallOptions } from './http.ts'

/** Options of a call of the app's own routes, besides its body. */
interface AppCallOptions extends JsonCallOptions {
  /** Value of the parameter in the path, such as `:id`. */
  readonly at?: string
}

/** Calls a route of the app by its name. Rejects with `RefusedCall`. */
export async function callApp<N extends AppRouteName>(
  name: N,
  body?: AppBody<N>,
  { at = '', ...options }: AppCallOptions = {},
): Promise<AppResponse<N>> {
  const { method, path } = APP_PATHS[name]
  const filled = path.replace(/:[a-z]+/, encodeURIComponent(at))
  return await callJson<AppResponse<N>>(method, `${APP_API}${filled}`, body, options)
}
