import express, { Router } from 'express'
import helmet from 'helmet'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { requestContextOf } from './request-context.ts'
import { sendNotAllowed } from './response.ts'

/** Files of the packaged reference that the page loads; nothing else of the package is served. */
const ASSETS = ['/swagger-ui.css', '/swagger-ui-bundle.js', '/favicon-32x32.png']

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>API reference</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <div id="reference"></div>
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

/** The API reference under `/docs`, by the packaged Swagger UI: it loads nothing from other hosts. */
export function docsPages(): Router {
  const packaged = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')))
  const router = Router()
  router.use(
    helmet({
      // Whether a host is reached by TLS alone is for the proxy in front to say.
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
          baseUri: ["'none'"],
          formAction: ["'none'"],
        },
      },
    }),
  )
  router.use((_req, res, next) => {
    res.setHeader('X-Request-Id', requestContextOf(res).requestId)
    next()
  })
  router.get('/', (_req, res) => void res.type('html').send(PAGE))
  router.get('/start.js', (_req, res) => void res.type('js').send(START))
  router.get(ASSETS, express.static(packaged, { index: false, maxAge: '1h' }))
  router.all(['/', '/start.js', ...ASSETS], (_req, res) => sendNotAllowed(res, 'GET, HEAD'))
  return router
}
