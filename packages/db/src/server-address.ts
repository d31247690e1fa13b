import pg from 'pg'

/**
 * The role of a database's URL with its password, as the driver reads them; empty without one.
 *
 * @throws if the URL names no user: the driver would take that of the operating system
 */
export function loginOf(url: string): { readonly user: string; readonly password: string } {
  // The host may be a parameter, as of a socket: `postgres://user@/name?host=/run/postgresql`.
  const { username, searchParams } = URL.parse(url) ?? new URL(url.replace('@/', '@host/'))
  if (username === '' && !searchParams.has('user')) {
    throw new Error('DATABASE_URL names no user; expected that of the service')
  }
  const { user = '', password } = new pg.Client({ connectionString: url })
  return { user, password: password ?? '' }
}

/** Where a database is, without user and password: `host:port/name`. */
export function placeOf(url: string): string {
  const { host, port, database } = new pg.Client({ connectionString: url })
  return `${host}:${port}/${database}`
}
