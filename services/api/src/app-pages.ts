import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { APP_API } from '@plumbline/contract/app/paths'
import { Problem } from '@plumbline/contract/problem'
import type { Express, Request, Response } from 'express'
import { requestContextOf } from './request-context.ts'
import { HSTS, noSuchPath, SAFE_HEADERS, sendNotAllowed } from './response.ts'

/** Folder of the built web app. */
const BUILT = fileURLToPath(new URL('../../web/dist', import.meta.url))

/** Media types of the app's files; other files are not served. */
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
}

/** File name extensions of types that are already compressed. */
const PACKED: readonly string[] = ['.png', '.woff2']

/**
 * Content security policy of the app's pages: files and calls of this host only, nothing inline.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A file of the app, with its compressed forms. */
interface AppFile {
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer | undefined
  readonly br: Buffer | undefined
}

/** The built app: few files, cached in memory. */
type AppFiles = ReadonlyMap<string, AppFile>

/**
 * Serves the web app below `/app`, and redirects `/` there. Files with a digest in their name are
 * cached for ever; the page itself is revalidated each time, so that a new version is used at once.
 */
export function mountAppPages(app: Express, builtDir: string = BUILT): void {
  let files: Promise<AppFiles> | undefined
  const serve = async (req: Request, res: Response): Promise<void> => {
    if (req.path === APP_API || req.path.startsWith(`${APP_API}/`)) throw noSuchPath()
    files ??= readFiles(builtDir).catch((error: unknown) => {
      // The next request looks again: it may be built by then.
      files = undefined
      throw error
    })
    sendFile(req, res, await files)
  }
  for (const path of ['/app', '/app/', '/app/*path']) {
    app
      .route(path)
      .get((req, res) => serve(req, res))
      .all((_req, res) => sendNotAllowed(res, 'GET, HEAD'))
  }
  app
    .route('/')
    .get((_req, res) => sendAway(res, '/app'))
    .all((_req, res) => sendNotAllowed(res, 'GET, HEAD'))
  app.route('/favicon.ico').get((_req, res) => sendAway(res, '/app/icon.svg'))
}

function sendAway(res: Response, to: string): void {
  res.setHeader('X-Request-Id', requestContextOf(res).requestId)
  res.setHeader('Cache-Control', 'no-store')
  const [sniffing, nosniff, policy, nothing] = SAFE_HEADERS
  res.setHeader(sniffing, nosniff)
  res.setHeader(policy, nothing)
  if (requestContextOf(res).isSecure) res.setHeader(...HSTS)
  res.redirect(302, to)
}

function sendFile(req: Request, res: Response, files: AppFiles): void {
  const path = req.path.replace(/^\/app\/?/, '')
  // A path without an ending is a page, which the app itself finds.
  const isPage = extname(path) === '' && !/(?:^|\/)\./.test(path)
  const file = files.get(isPage ? 'index.html' : path)
  if (file === undefined) throw noSuchPath()
  // Ours is the order of preference: the smaller form, whichever the browser names first.
  const encoding = (['br', 'gzip'] as const).find((one) => req.acceptsEncodings(one) === one)
  const packed = encoding === undefined ? undefined : file[encoding]
  const body = packed ?? file.plain
  const isNamedByDigest = /^assets\/.+-[\w-]{8,}\.\w+$/.test(path)
  res.writeHead(200, {
    'X-Request-Id': requestContextOf(res).requestId,
    'Content-Type': file.type,
    'Content-Length': body.length,
    ...(packed === undefined ? {} : { 'Content-Encoding': encoding }),
    Vary: 'Accept-Encoding',
    'Cache-Control': isNamedByDigest
      ? 'public, max-age=31536000, immutable'
      : isPage
        ? 'no-store'
        : 'public, max-age=3600',
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    // Where TLS ends at a proxy that is not trusted to say so, the proxy sends it.
    ...(requestContextOf(res).isSecure ? { [HSTS[0]]: HSTS[1] } : {}),
  })
  res.end(req.method === 'HEAD' ? undefined : body)
}

async function readFiles(dir: string): Promise<AppFiles> {
  const found = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = new Map<string, AppFile>()
  for (const entry of found) {
    const type = TYPES[extname(entry.name)]
    if (!entry.isFile() || type === undefined) continue
    const path = join(entry.parentPath, entry.name)
    files.set(path.slice(dir.length + 1).replaceAll('\\', '/'), await readOne(path, type))
  }
  if (files.has('index.html')) return files
  throw new Problem('unavailable', 'The web app is not built; `npm start` builds it.', {
    retryAfterSeconds: 5,
  })
}

async function readOne(path: string, type: string): Promise<AppFile> {
  const plain = await readFile(path)
  if (PACKED.includes(extname(path))) return { type, plain, gzip: undefined, br: undefined }
  const [zipped, br] = await Promise.all([
    promisify(gzip)(plain, { level: 9 }),
    promisify(brotliCompress)(plain, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 10,
        [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
      },
    }),
  ])
  return { type, plain, gzip: zipped, br }
}
