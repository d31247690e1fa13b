/** Properties of a page: the parameters in its path. */
export interface PageProps {
  readonly id: string
}
