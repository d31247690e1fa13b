import type { ComponentChildren, JSX } from 'preact'
import { probeDownload } from '../api/download.ts'
import { saveUrl } from '../save-file.ts'
import { useSubmission } from '../submit.ts'
import { LinkButton, type ButtonKind } from './button.tsx'
import { Notice } from './page.tsx'

/** A link to a file of the service, with the reason beside it if the file is refused. */
export function DownloadLink({
  href,
  kind,
  small,
  children,
}: {
  readonly href: string
  readonly kind?: ButtonKind
  readonly small?: boolean
  readonly children: ComponentChildren
}): JSX.Element {
  const { isBusy, fault, run } = useSubmission()
  const download = async (): Promise<void> => {
    await probeDownload(href)
    saveUrl(href)
  }
  return (
    <>
      <LinkButton
        href={href}
        {...(kind === undefined ? {} : { kind })}
        {...(small === undefined ? {} : { small })}
        busy={isBusy}
        onPress={() => void run(download)}
      >
        {children}
      </LinkButton>
      {fault !== null && <Notice tone="bad">{fault}</Notice>}
    </>
  )
}
