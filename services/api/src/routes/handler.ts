import type { Request, Response } from 'express'

/** Handles one request; what it throws goes to the app's error handler. */
export type Handler = (req: Request, res: Response) => Promise<void>
