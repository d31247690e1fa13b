/** Builds the web app if it is missing or older than its sources; returns the error, if any. */
export function buildWeb(root: string, node: string): string | undefined
