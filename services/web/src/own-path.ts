/**
 * A path of this app from a query parameter; anything else leads to the overview, never to another
 * site.
 */
export function ownPath(path: string | undefined): string {
  return path !== undefined && /^\/app(?:\/[\w/-]*)?(?:\?[\w=&%.-]*)?$/.test(path) ? path : '/app'
}
