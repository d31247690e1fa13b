/** Builds the web app where it is missing or older than its sources; answers what went wrong. */
export function buildWeb(root: string, node: string): string | undefined
