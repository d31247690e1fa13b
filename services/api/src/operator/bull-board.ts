import type { createBullBoard } from '@bull-board/api'
import type { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import type { ExpressAdapter } from '@bull-board/express'
import { Problem } from '@plumbline/contract/problem'
import { openDashboardQueues } from '@plumbline/queue/dashboard-queues'
import type { RedisServer } from '@plumbline/queue/redis'
import type { Express, Request, RequestHandler } from 'express'
import { refuseForeignOrigin } from '../browser.ts'
import type { Context } from '../context.ts'
import { html, page } from './html.ts'
import { requireOperator } from './identity.ts'

/** Path of the board on the admin port. */
export const BOARD_PATH = '/operator/board'

/** Jobs of one response at most: each may hold many questions, which are read to be masked. */
const JOBS_MAX = 100

const ON_POSTGRES =
  'Bull Board shows queues on Redis; these are on Postgres, and their page tells what waits.'
const MISSING =
  'Bull Board is not installed here: run "npm install" in the folder of the service without --omit=optional.'

/** Content security policy: the board sets styles by script and loads nothing from other hosts. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"

/** The parts of its packages that are used. */
interface BoardPackages {
  readonly createBullBoard: typeof createBullBoard
  readonly BullMQAdapter: typeof BullMQAdapter
  readonly ExpressAdapter: typeof ExpressAdapter
}

/**
 * Bull Board for a signed-in operator, read only: requests that would change a queue are refused,
 * and job data is masked.
 */
export function bullBoard(ctx: Context): RequestHandler {
  let opened: Promise<Express | undefined> | undefined
  return async (req, res, next) => {
    await requireOperator(ctx, req)
    refuseChanges(req)
    refuseMany(req)
    const { redis } = ctx.pipeline.queue
    opened ??= redis === null ? undefined : openBoard(redis, ctx.onError)
    const board = await opened
    if (board === undefined) {
      const body = html`<p>${redis === null ? ON_POSTGRES : MISSING}</p>
        <p><a href="/operator/queues">Queues</a></p>`
      res.type('html').send(page('Bull Board', body))
      return
    }
    res.set('Content-Security-Policy', POLICY)
    board(req, res, next)
  }
}

function refuseChanges(req: Request): void {
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    throw new Problem('forbidden', 'The board is read-only.')
  }
  // Its pages are opened by links; its data are asked for by its own scripts.
  if (req.path.startsWith('/api/')) refuseForeignOrigin(req, undefined)
}

function refuseMany(req: Request): void {
  const asked = new URLSearchParams(req.url.split('?')[1] ?? '').getAll('jobsPerPage')
  if (asked.every((count) => Number(count) <= JOBS_MAX)) return
  throw new Problem('bad_request', `Ask for ${JOBS_MAX} jobs of a page at most.`)
}

async function openBoard(
  redis: RedisServer,
  onError: (error: unknown) => void,
): Promise<Express | undefined> {
  const packages = await loadBoard()
  if (packages === undefined) return undefined
  const serverAdapter = new packages.ExpressAdapter()
  serverAdapter.setBasePath(BOARD_PATH)
  packages.createBullBoard({
    queues: openDashboardQueues(redis, onError).map(
      (queue) => new packages.BullMQAdapter(queue, { readOnlyMode: true }),
    ),
    serverAdapter,
    options: {
      uiConfig: { boardTitle: 'Queues', miscLinks: [{ text: 'Operator', url: '/operator' }] },
    },
  })
  const board = asExpress(serverAdapter.getRouter())
  board.disable('x-powered-by')
  return board
}

/** Safe because the adapter makes it by calling `express()`. */
function asExpress(router: unknown): Express {
  return router as Express
}

/** Loads its packages, which are optional; undefined if they are not installed. */
async function loadBoard(): Promise<BoardPackages | undefined> {
  try {
    const [api, bullMQ, server] = await Promise.all([
      import('@bull-board/api'),
      import('@bull-board/api/bullMQAdapter'),
      import('@bull-board/express'),
    ])
    return {
      createBullBoard: api.createBullBoard,
      BullMQAdapter: bullMQ.BullMQAdapter,
      ExpressAdapter: server.ExpressAdapter,
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') {
      return undefined
    }
    throw error
  }
}
