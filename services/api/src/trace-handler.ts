import type { Tracer } from '@plumbline/ports/tracer'
import { problemOf } from './response.ts'
import type { Handler } from './routes/handler.ts'

/**
 * Traces each request as a span, named by its route's pattern: never the actual path, which may
 * hold a subject. Continues the trace of a `traceparent` header.
 */
export function traceHandler(tracer: Tracer, path: string, handler: Handler): Handler {
  return async (req, res) => {
    const { method, headers } = req
    const { traceparent } = headers
    const told = typeof traceparent === 'string' ? traceparent : undefined
    const facts = { 'http.request.method': method, 'http.route': path }
    const span = { name: `${method} ${path}`, kind: 'server', facts } as const
    await tracer.within(told, () =>
      tracer.span(span, async (note) => {
        try {
          await handler(req, res)
          note({ 'http.response.status_code': res.statusCode })
        } catch (error) {
          note({ 'http.response.status_code': problemOf(error).status })
          throw error
        }
      }),
    )
  }
}
