import { withoutBidiControls } from '@plumbline/contract/bidi-controls'
import { systemUser } from '@plumbline/runtime/system-user'
import { InvalidArgumentError, Option } from 'commander'

/** Option of every administrative act: the name of the person who does it. */
export interface Acting {
  readonly as?: string
}

/** Characters of a name in the audit log at most. */
const NAME_MAX_CHARS = 200

/** `--as`, for acts that are written to the audit log. */
export function asOption(): Option {
  return new Option(
    '--as <name>',
    'who does it, for the audit log (default: your user name)',
  ).argParser(actorName)
}

/** Name for the audit log: that of `--as`, else the operating system user. */
export function actorOf({ as }: Acting): string {
  return as ?? systemUser()
}

function actorName(text: string): string {
  const plain = /^[^\p{Cc}\p{Cs}]+$/u.test(text) && withoutBidiControls(text) === text
  if (plain && text.trim() !== '' && text.length <= NAME_MAX_CHARS) return text
  throw new InvalidArgumentError(`Expected a name of 1 to ${NAME_MAX_CHARS} characters.`)
}
