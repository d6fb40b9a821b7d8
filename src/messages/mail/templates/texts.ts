/** The texts of mails, one folder per language. `layout.ts` renders them. */
import type { Role } from '../../../roles.ts'

/** Replies to somebody who asked for a code and gets none. */
const noticeKinds = [
  'no-account',
  'is-student',
  'not-on-roster',
  'not-enabled',
  'is-veterinarian',
  'not-staff',
  'suspended',
  'address-in-use',
] as const
export type NoticeKind = (typeof noticeKinds)[number]
/** Notifies the owner of a change. */
const toldKinds = [
  'address-left',
  'address-taken',
  'address-moved',
  'passkey-added',
  'passkey-removed',
] as const
export type ToldKind = (typeof toldKinds)[number]
export const isTold = (kind: MailKind): kind is ToldKind => toldKinds.some((told) => told === kind)

/** Has its own text; see `Report`. */
export const reportKind = 'report'

/** To sign in, to confirm a new address, or to prove again who one is. */
const codeKinds = ['code', 'address-code', 'step-up-code'] as const
export type CodeKind = (typeof codeKinds)[number]
export const isCode = (kind: MailKind): kind is CodeKind => codeKinds.some((code) => code === kind)

export const mailKinds = [...codeKinds, ...noticeKinds, ...toldKinds, reportKind] as const
export type MailKind = (typeof mailKinds)[number]
export const isNotice = (kind: MailKind): kind is NoticeKind => noticeKinds.some((notice) => notice === kind)

/** The kind of a mail when it is queued; null until its owner is looked up. */
export type NewKind = ToldKind | 'address-code' | 'step-up-code' | typeof reportKind | null

/** A report to staff. A paragraph may have several lines. */
export interface Report {
  readonly subject: string
  readonly paragraphs: readonly string[]
}

/** Sent if the address has no account of that role. */
export const absentNotice: Readonly<Record<Role, NoticeKind>> = {
  veterinarian: 'no-account',
  student: 'not-on-roster',
  staff: 'not-staff',
}

/** Sent instead if the address has an account of this other role: the reader chose the wrong one on the screen. */
export const otherNotice: Readonly<Partial<Record<Role, { role: Role; kind: NoticeKind }>>> = {
  veterinarian: { role: 'student', kind: 'is-student' },
  student: { role: 'veterinarian', kind: 'is-veterinarian' },
}

export interface CodeTexts {
  subject(reference: string): string
  greeting(name: string | null): string
  readonly intro: string
  reference(reference: string): string
  lifetime(minutes: number, until: string): string
  readonly never: string
  readonly unasked: string
}

export interface MailTexts {
  readonly code: CodeTexts
  /** What differs in the code for a new address, and in the one that renews a session. */
  readonly addressCode: Pick<CodeTexts, 'subject' | 'intro' | 'unasked'>
  readonly stepUpCode: Pick<CodeTexts, 'subject' | 'intro' | 'unasked'>
  readonly notices: Readonly<Record<NoticeKind | ToldKind, Notice>>
  /** For admins. The page at `url` shows more. */
  webhookOff(off: WebhookOff): Report
  /** About the sender; `name` is the school's, if it is known. */
  footer(name: string | null): string
  help(where: string): string
  privacy(where: string): string
}

/** An endpoint of another program that was switched off. */
export interface WebhookOff {
  readonly id: string
  readonly host: string
  /** It answered 410, or had no success for three days. */
  readonly because: 'gone' | 'failing'
  readonly url: string
}

export interface Notice {
  subject(reference: string): string
  /** `help` says where to write to: empty, or in brackets after "the school". */
  paragraphs(url: string, help: string): readonly string[]
}
