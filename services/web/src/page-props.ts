/** What a page is given: the variable parts of its path. */
export interface PageProps {
  readonly id: string
}
