import type { PageTexts } from '../page-texts.ts'

export const text: PageTexts = {
  links: { help: 'Hilfe', privacy: 'Datenschutz' },
  notFound: {
    title: 'Seite nicht gefunden',
    lead: 'Vielleicht enthält die Adresse einen Tippfehler, oder es gibt die Seite nicht mehr.',
    home: 'Zur Startseite',
  },
  refusal: {
    title: 'So können Sie sich nicht anmelden',
    lead: 'Die Anwendung, von der Sie kommen, hat einen Fehler gemacht. Gehen Sie zu ihr zurück und versuchen Sie es noch einmal. Wenn das nicht hilft, wenden Sie sich an deren Betreiber.',
    reason: 'Für die Betreiber:',
  },
  card: {
    verdicts: {
      active: {
        heading: 'Echt: studiert zurzeit hier',
        lead: 'Die Hochschule bestätigt, dass diese Person zurzeit hier studiert.',
      },
      inactive: {
        heading: 'Studiert zurzeit nicht hier',
        lead: 'Der Ausweis ist echt, aber diese Person studiert zurzeit nicht aktiv an der Hochschule.',
      },
      expired: {
        heading: 'Dieser Ausweis ist abgelaufen',
        lead: 'Er war echt, aber ein Ausweis gilt nur fünf Minuten. Lassen Sie ihn sich noch einmal zeigen.',
      },
      none: {
        heading: 'Kein Ausweis dieser Hochschule',
        lead: 'Die Hochschule kennt diesen Ausweis nicht. Er ist gefälscht, falsch abgetippt oder älter als ein Tag. Akzeptieren Sie ihn nicht.',
      },
    },
    name: 'Name',
    number: 'Matrikelnummer',
    school: 'Hochschule',
    year: 'Studienjahr',
    checked: 'Geprüft',
    validUntil: 'Ausweis gültig bis',
  },
}
