/** The texts of mails, one file per language. `layout.ts` renders them. */
import type { Role } from '../../lib/roles.ts'

export type NoticeKind = 'no-account' | 'not-on-roster' | 'suspended'
export type MailKind = 'code' | NoticeKind

/** Sent if the address has no account of that role. */
export const absentNotice: Readonly<Record<Role, NoticeKind>> = {
  veterinarian: 'no-account',
  student: 'not-on-roster',
}

export interface MailTexts {
  readonly code: {
    subject(reference: string): string
    greeting(name: string | null): string
    readonly intro: string
    reference(reference: string): string
    lifetime(minutes: number, until: string): string
    readonly never: string
    readonly unasked: string
  }
  readonly notices: Readonly<Record<NoticeKind, Notice>>
  readonly footer: string
}

export interface Notice {
  subject(reference: string): string
  paragraphs(url: string): readonly string[]
}
