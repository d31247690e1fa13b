import type { Request, Response } from 'express'

/** Handles one request; thrown errors go to the app's error handler. */
export type Handler = (req: Request, res: Response) => Promise<void>

/** One path of the service, with a handler for each method. */
export interface Route {
  readonly path: string
  readonly get?: Handler
  readonly post?: Handler
  readonly patch?: Handler
  readonly delete?: Handler
}
