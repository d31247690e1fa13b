import type { MailMessage } from './message.ts'

/** A message as it is sent. */
export interface ComposedMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** Content of a message: paragraphs, and one link if there is something to do. */
interface Content {
  readonly subject: string
  readonly lines: readonly string[]
  readonly link?: { readonly label: string; readonly url: string }
}

/** Characters of a user-chosen name that a message shows at most. */
const NAME_CHARS = 100

/** Renders a message as text and as HTML, with the same content and no external resources. */
export function composeMail(message: MailMessage): ComposedMail {
  const { subject, lines, link } = contentOf(message)
  const linkText = link === undefined ? [] : [`${link.label}:\n${link.url}`]
  const linkHtml =
    link === undefined ? [] : [`<p><a href="${escaped(link.url)}">${escaped(link.label)}</a></p>`]
  const paragraphs = lines.map((line) => `<p>${escaped(line)}</p>`)
  return {
    to: message.to,
    subject: oneLine(subject),
    text: `${[...lines, ...linkText].join('\n\n')}\n`,
    html:
      '<!doctype html><html lang="en"><head><meta charset="utf-8">' +
      `<title>${escaped(oneLine(subject))}</title></head>` +
      `<body style="font-family: sans-serif; line-height: 1.5">${[...paragraphs, ...linkHtml].join('')}</body></html>\n`,
  }
}

function contentOf(message: MailMessage): Content {
  switch (message.kind) {
    case 'verify':
      return {
        subject: 'Verify your email address',
        lines: [
          `Hello ${shown(message.name)},`,
          'Somebody, probably you, signed up with this address. Open the link within 24 hours and enter the ' +
            'password that you chose; the account is made then.',
          'If it was not you, do nothing: without the link there is no account.',
        ],
        link: { label: 'Verify the address', url: message.link },
      }
    case 'already_signed_up':
      return {
        subject: 'You have an account already',
        lines: [
          `Hello ${shown(message.name)},`,
          'Somebody, probably you, tried to sign up with this address, which has an account already. Sign in as ' +
            'before; if you forgot the password, set a new one within an hour by the link.',
          'If it was not you, do nothing: nothing has changed.',
        ],
        link: { label: 'Set a new password', url: message.link },
      }
    case 'confirm_email':
      return {
        subject: 'Confirm your email address',
        lines: [
          `Hello ${shown(message.name)},`,
          'Open the link within 24 hours, so that this becomes the address of your account.',
          'If you did not ask for this, do nothing.',
        ],
        link: { label: 'Confirm the address', url: message.link },
      }
    case 'reset':
      return {
        subject: 'Set a new password',
        lines: [
          `Hello ${shown(message.name)},`,
          'Somebody, probably you, asked to set a new password. The link works once, within an hour.',
          'If it was not you, do nothing: your password stays as it is.',
        ],
        link: { label: 'Set a new password', url: message.link },
      }
    case 'email_changed':
      return {
        subject: 'The email address of your account was changed',
        lines: [
          `Hello ${shown(message.name)},`,
          `Your account has the address ${oneLine(message.newEmail)} from now on, and all other sessions have ended.`,
          'If it was not you, tell the operator of the service at once.',
        ],
      }
    default:
      return contentOfNews(message)
  }
}

type News = Exclude<
  MailMessage,
  { readonly kind: 'verify' | 'already_signed_up' | 'confirm_email' | 'reset' | 'email_changed' }
>

function contentOfNews(message: News): Content {
  switch (message.kind) {
    case 'password_changed':
      return {
        subject: 'Your password was changed',
        lines: [
          `Hello ${shown(message.name)},`,
          'The password of your account was changed, and all other sessions have ended.',
          'If it was not you, set a new one at once.',
        ],
        link: { label: 'Set a new password', url: message.link },
      }
    case 'new_sign_in':
      return {
        subject: 'A new sign-in to your account',
        lines: [
          `Hello ${shown(message.name)},`,
          `Somebody signed in to your account at ${message.at} from ${message.network}, which has no other session ` +
            `of yours. The browser calls itself: ${shown(message.browser)}`,
          'If it was you, there is nothing to do. If not, end that session and change your password.',
        ],
        link: { label: 'See your sessions', url: message.link },
      }
    case 'second_factor_off':
      return {
        subject: 'Your second factor was removed',
        lines: [
          `Hello ${shown(message.name)},`,
          'Signing in to your account asks for the password alone from now on.',
          'If it was not you, change your password and set the second factor again.',
        ],
        link: { label: 'See your settings', url: message.link },
      }
    case 'second_factor_guessed':
      return {
        subject: 'Many wrong codes of your second factor',
        lines: [
          `Hello ${shown(message.name)},`,
          'Somebody who knows your password entered many wrong codes today. No more are accepted until tomorrow, ' +
            'or until the password is changed.',
          'If it was not you, set a new password at once.',
        ],
        link: { label: 'Set a new password', url: message.link },
      }
    case 'invitation':
      return {
        subject: `You are invited to ${shown(message.accountName)}`,
        lines: [
          `${shown(message.inviterName)} invites you to the account ${shown(message.accountName)}.`,
          'The link works for seven days. If you do not know them, do nothing.',
        ],
        link: { label: 'See the invitation', url: message.link },
      }
    case 'key_replaced':
      return {
        subject: `A new ${message.mode} key was made`,
        lines: [
          `${shown(message.byName)} made a new ${message.mode} key for the account ${shown(message.accountName)}; ` +
            `it ends in ${message.last4}. The key before it is refused from now on.`,
          'If nobody of you did this, revoke the key and look at the members of the account.',
        ],
        link: { label: 'See the keys', url: message.link },
      }
    default:
      return contentOfWork(message)
  }
}

type Work = Extract<News, { readonly kind: 'batch_ended' | 'credits_low' | 'webhook_off' }>

function contentOfWork(message: Work): Content {
  switch (message.kind) {
    case 'batch_ended':
      return {
        subject: `${shown(message.batchName)}: ${message.status}`,
        lines: [
          `The batch ${shown(message.batchName)} of the account ${shown(message.accountName)} has ended: ${message.status}.`,
        ],
        link: { label: 'See the batch', url: message.link },
      }
    case 'webhook_off':
      return {
        subject: 'A webhook was switched off',
        lines: [
          `An endpoint of the account ${shown(message.accountName)} has not taken messages for days, or says that it ` +
            'is gone. It gets no more until you switch it on again.',
        ],
        link: { label: 'See the settings', url: message.link },
      }
    case 'credits_low':
      return {
        subject: `${message.available} credits are left`,
        lines: [
          `The account ${shown(message.accountName)} has ${message.available} credits left, at or below the mark of ` +
            `${message.mark} that you set.`,
        ],
        link: { label: 'See the credits', url: message.link },
      }
  }
}

/**
 * User-chosen text, safe to show in a message: on one line, of bounded length, without
 * bidirectional controls, and without anything that a mail program turns into a link.
 */
function shown(text: string): string {
  const plain = oneLine(text)
  const cut = plain.length > NAME_CHARS ? `${plain.slice(0, NAME_CHARS)}...` : plain
  return cut.replaceAll('://', ': //').replaceAll(/(?<=\w)\.(?=\w)/g, '.\u{2060}')
}

function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]+/gu, ' ')
    .trim()
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
