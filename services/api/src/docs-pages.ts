import express, { Router } from 'express'
import helmet from 'helmet'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { htmlOf } from './docs-text.ts'
import { requestContextOf } from './request-context.ts'
import { HSTS, sendNotAllowed } from './response.ts'

/** Files of the packaged Swagger UI that the page loads; nothing else of the package is served. */
const ASSETS = ['/swagger-ui.css', '/swagger-ui-bundle.js', '/favicon-32x32.png']

/** The page: the reference, followed by the values of test keys. */
const pageOf = (testKeys: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>API reference of Plumbline</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="stylesheet" href="/docs/page.css">
    <link rel="icon" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <div id="reference"></div>
    <section id="test-keys">
      <h2>Test keys</h2>
      ${htmlOf(testKeys)}
    </section>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`

const START = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  validatorUrl: null,
})
`

const STYLE = `body { margin: 0; }
.swagger-ui { overflow-wrap: anywhere; }
.swagger-ui .info .title, .swagger-ui .opblock-summary { flex-wrap: wrap; }
.swagger-ui table { display: block; overflow-x: auto; }
#test-keys { max-width: 1460px; margin: 0 auto; padding: 0 20px 40px; box-sizing: border-box; font: 14px/1.5 sans-serif; color: #3b4151; }
#test-keys .wide { overflow-x: auto; }
#test-keys table { border-collapse: collapse; }
#test-keys th, #test-keys td { text-align: start; vertical-align: top; padding: 4px 12px 4px 0; border-bottom: 1px solid #d8dde7; }
#test-keys code { font-size: 12px; overflow-wrap: anywhere; }
`

/** The API reference under `/docs`, by the packaged Swagger UI, without external resources. */
export function docsPages(testKeys: string): Router {
  const page = pageOf(testKeys)
  const packaged = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')))
  const router = Router()
  router.use(
    helmet({
      strictTransportSecurity: false,
      contentSecurityPolicy: {
        useDefaults: false,
        directives: {
          defaultSrc: ["'none'"],
          scriptSrc: ["'self'"],
          // The interface sets styles of its own while it runs.
          styleSrc: ["'self'", "'unsafe-inline'"],
          imgSrc: ["'self'", 'data:'],
          connectSrc: ["'self'"],
          frameAncestors: ["'none'"],
          objectSrc: ["'none'"],
          baseUri: ["'none'"],
          formAction: ["'none'"],
        },
      },
    }),
  )
  router.use((_req, res, next) => {
    const { requestId, isSecure } = requestContextOf(res)
    res.setHeader('X-Request-Id', requestId)
    if (isSecure) res.setHeader(...HSTS)
    next()
  })
  router.get('/', (_req, res) => void res.type('html').send(page))
  router.get('/page.css', (_req, res) => void res.type('css').send(STYLE))
  router.get('/start.js', (_req, res) => void res.type('js').send(START))
  router.get(ASSETS, express.static(packaged, { index: false, maxAge: '1h' }))
  router.all(['/', '/start.js', '/page.css', ...ASSETS], (_req, res) =>
    sendNotAllowed(res, 'GET, HEAD'),
  )
  return router
}
