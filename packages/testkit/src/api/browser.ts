import type { AppRouteName } from '@plumbline/contract/app/paths'
import { APP_API, APP_PATHS } from '@plumbline/contract/app/paths'
import type { AppResponse, AppBody } from '@plumbline/contract/app/shapes'
import type { ApiResponse, CallInit } from './harness.ts'

/** The cookies of one simulated browser, and calls that it sends to a service. */
export interface TestBrowser {
  /** The value of the `Cookie` header. */
  readonly cookie: string
  /** Calls a path with the headers that a page of the service would send. */
  call(path: string, init?: CallInit): Promise<ApiResponse>
  /** Calls a route of the app by the name of the route. */
  app<N extends AppRouteName>(
    name: N,
    body?: AppBody<N>,
    at?: string,
  ): Promise<ApiResponse & { readonly json: AppResponse<N> }>
}

/** The part of a service that a test browser uses. */
interface Service {
  call(path: string, init?: CallInit): Promise<ApiResponse>
}

/** Opens a browser without a session. */
export function openBrowser(
  service: Service,
  headers: Readonly<Record<string, string>> = {},
): TestBrowser {
  const jar = new Map<string, string>()
  const cookie = (): string => [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const call = async (path: string, init: CallInit = {}): Promise<ApiResponse> => {
    const response = await service.call(path, {
      ...init,
      headers: {
        'sec-fetch-site': 'same-origin',
        'user-agent': 'test browser',
        ...(jar.size === 0 ? {} : { cookie: cookie() }),
        ...headers,
        ...init.headers,
      },
    })
    for (const line of response.headers.getSetCookie()) keep(jar, line)
    return response
  }
  return {
    get cookie() {
      return cookie()
    },
    call,
    app: async (name, body, at = '') => {
      const { method, path } = APP_PATHS[name]
      const response = await call(`${APP_API}${path.replace(/:[a-z]+/, at)}`, {
        method,
        ...(body === undefined ? {} : { body }),
      })
      // Safe because the test says which status it expects, and with it the shape.
      return { ...response, json: response.json as AppResponse<typeof name> }
    },
  }
}

function keep(jar: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
  const equals = pair.indexOf('=')
  const name = pair.slice(0, equals)
  if (attributes.includes('Max-Age=0')) jar.delete(name)
  else jar.set(name, pair.slice(equals + 1))
}
