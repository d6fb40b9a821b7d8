/** What a mail says, in one language. One file a language; `layout.ts` gives it its form. */
export type NoticeKind = 'no-account' | 'not-on-roster' | 'suspended'
export type MailKind = 'code' | NoticeKind

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
