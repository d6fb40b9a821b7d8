import type { MailTexts } from './texts.ts'

const subject = (reference: string) => `Acerca de su acceso (referencia ${reference})`
const unasked = 'Si no fue usted quien intentó entrar, no tiene que hacer nada: nadie ha entrado.'

export const spanish: MailTexts = {
  code: {
    subject: (reference) => `Su código de acceso (referencia ${reference})`,
    greeting: (name) => (name === null ? 'Hola:' : `Hola, ${name}:`),
    intro: 'Este es su código para entrar en Chiron:',
    reference: (reference) => `La pantalla que lo pide muestra la referencia ${reference}.`,
    lifetime: (minutes, until) =>
      `El código sirve una sola vez, durante ${minutes} minutos: hasta las ${until}.`,
    never: 'Nadie de la escuela se lo pedirá nunca. No se lo dé a nadie.',
    unasked:
      'Si usted no ha pedido un código, ignore este mensaje: sin el código nadie puede entrar en su nombre.',
  },
  addressCode: {
    subject: (reference) => `Confirme su nueva dirección (referencia ${reference})`,
    intro:
      'Alguien que ha entrado en Chiron quiere usar esta dirección para su cuenta de veterinario. Si es usted, introduzca este código:',
    unasked: 'Si no ha sido usted, ignore este mensaje: sin el código no cambia nada.',
  },
  notices: {
    'no-account': {
      subject,
      paragraphs: (url) => [
        'Alguien ha pedido un código de acceso para esta dirección, pero aquí no hay ninguna cuenta de veterinario.',
        `Si fue usted, regístrese primero y pida después un código: ${url}`,
        'Quizá se registró con otra dirección, o hace más de siete días sin haber entrado; en ese caso, regístrese de nuevo.',
        unasked,
      ],
    },
    'is-student': {
      subject,
      paragraphs: (url) => [
        'Alguien ha pedido un código de veterinario para esta dirección, pero figura en la lista de la escuela como la de un estudiante.',
        `Si fue usted, elija «Estudiante» en la página de acceso y pida de nuevo un código: ${url}`,
        unasked,
      ],
    },
    'is-veterinarian': {
      subject,
      paragraphs: (url) => [
        'Alguien ha pedido un código de estudiante para esta dirección, pero pertenece a una cuenta de veterinario.',
        `Si fue usted, elija «Veterinario» en la página de acceso y pida de nuevo un código: ${url}`,
        unasked,
      ],
    },
    'not-on-roster': {
      subject,
      paragraphs: () => [
        'Alguien ha pedido un código de estudiante para esta dirección, pero no figura en la lista de la escuela.',
        'Si fue usted, use la dirección que la escuela tiene registrada, o pida a la secretaría que la corrija.',
        unasked,
      ],
    },
    'not-staff': {
      subject,
      paragraphs: () => [
        'Alguien ha pedido un código de acceso a la consola del personal para esta dirección, pero la dirección no es de nadie del personal.',
        'Si ha sido usted, use la dirección con la que se le dio de alta, o pida que la añadan a quien lleva el servicio en la escuela.',
        unasked,
      ],
    },
    'address-left': {
      subject: () => 'Su cuenta tiene ahora otra dirección',
      paragraphs: (_url, help) => [
        'La escuela ha pasado su cuenta de veterinario de esta dirección a otra, y ha cerrado todas sus sesiones.',
        `Si no lo ha pedido usted, escriba a la escuela${help} cuanto antes.`,
      ],
    },
    'address-taken': {
      subject: () => 'Su cuenta tiene ahora esta dirección',
      paragraphs: (url, help) => [
        'La escuela ha pasado una cuenta de veterinario a esta dirección. A partir de ahora los códigos de acceso se envían aquí.',
        `Puede entrar aquí: ${url}`,
        `Si no sabe de ninguna cuenta, escriba a la escuela${help}.`,
      ],
    },
    'address-in-use': {
      subject: (reference) => `Acerca de su nueva dirección (referencia ${reference})`,
      paragraphs: (url) => [
        'Alguien que ha entrado en Chiron quería usar esta dirección para su cuenta, pero ya es de una cuenta de veterinario; no se ha creado ningún código.',
        `Si fue usted, entre con esta dirección: ${url}`,
        'Si no fue usted, no tiene que hacer nada: no ha cambiado nada.',
      ],
    },
    'address-moved': {
      subject: () => 'Su cuenta tiene ahora otra dirección',
      paragraphs: () => [
        'Su cuenta de veterinario ha pasado de esta dirección a otra, a petición de alguien que había entrado en ella. Se han cerrado todas las demás sesiones.',
        'Si no ha sido usted, escriba a la escuela cuanto antes.',
      ],
    },
    suspended: {
      subject,
      paragraphs: (_url, help) => [
        'Alguien ha pedido un código de acceso para esta dirección, pero su cuenta está suspendida; no se ha creado ningún código.',
        `Si cree que se trata de un error, escriba a la escuela${help}.`,
        unasked,
      ],
    },
  },
  webhookOff: ({ id, host, because, url }) => ({
    subject: `El webhook a ${host} está parado`,
    paragraphs: [
      because === 'gone'
        ? `El programa de ${host} ha respondido 410 Gone: no quiere recibir más sucesos. Su webhook está parado (${id}).`
        : `El programa de ${host} lleva tres días sin aceptar ningún suceso. Su webhook está parado (${id}) y lo que esperaba se ha descartado.`,
      'Cuando el programa vuelva a funcionar, ponga el webhook en marcha en la consola, en Webhooks. Recibirá entonces los sucesos nuevos; «Enviar de nuevo» envía los que perdió.',
      `La consola: ${url}`,
    ],
  }),
  footer: (name) =>
    `Enviado por Chiron, el servicio de acceso de la escuela veterinaria${name === null ? '' : ` (${name})`}. Las respuestas a este mensaje no se leen.`,
  help: (where) => `Ayuda: ${where}`,
  privacy: (where) => `Privacidad: ${where}`,
}
