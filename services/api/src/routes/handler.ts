import type { Request, Response } from 'express'

/** Answers one request; what it throws goes to the one error handler. */
export type Handler = (req: Request, res: Response) => Promise<void>
