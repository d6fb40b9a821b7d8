import type { PageTexts } from '../page-texts.ts'

export const text: PageTexts = {
  links: { help: 'Help', privacy: 'Privacy' },
  notFound: {
    title: 'Page not found',
    lead: 'The address may be mistyped, or the page no longer exists.',
    home: 'Go to the start page',
  },
  refusal: {
    title: 'You cannot sign in this way',
    lead: 'The application that sent you here made a mistake. Go back to it and try again. If that does not help, tell the people who run it.',
    reason: 'For them:',
  },
  card: {
    verdicts: {
      active: {
        heading: 'Genuine: currently a student',
        lead: 'The school confirms that this person is currently a student.',
      },
      inactive: {
        heading: 'Not currently a student',
        lead: 'The card is genuine, but this person is not currently an active student of the school.',
      },
      expired: {
        heading: 'This card has expired',
        lead: 'It was genuine, but a card is only valid for five minutes. Ask the student to show it again.',
      },
      none: {
        heading: 'Not a card of this school',
        lead: 'The school does not know this card. It is forged or mistyped, or more than a day old. Do not accept it.',
      },
    },
    name: 'Name',
    number: 'Student number',
    school: 'School',
    year: 'Year',
    checked: 'Checked',
    validUntil: 'Card valid until',
  },
}
