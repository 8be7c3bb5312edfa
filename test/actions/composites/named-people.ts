// An index of invented people with homonyms and near names, and who is meant by queries as callers write them. Data alone, written by hand.

/** `id | name | company`, the company empty where the source does not know it. */
const INDEX = `
john-acme | John Miller | Acme Inc.
jane-acme | Jane Miller | Acme Inc.
john-globex | John Miller | Globex Foods
zoe-acme | Zoe Miller | Acme Inc.
jr-acme | Robert Stone Jr. | Acme Inc.
sr-acme | Robert Stone Sr. | Acme Inc.
hansen | Lars Hansen | Fjord Maritime AS
hanson | Lars Hanson | Fjord Maritime AS
jurgen | Jürgen Müller | Müller Maschinenbau GmbH & Co. KG
jurgen-2 | Jürgen Möller | Müller Maschinenbau GmbH & Co. KG
sergey | Sergey Ivanov | Yandex LLC
sergey-2 | Sergey Ivanov | Sberbank
anna-ivanova | Anna Ivanova | Yandex LLC
pyotr | Pyotr Tchaikovsky | Swan Lake Studios
dmitri | Dmitri Shostakov | Northern Lights
wang-wei | Wei Wang | Lotus Trading
wang-li | Li Wang | Lotus Trading
giorgos | Giorgos Papadopoulos | Aegean Ferries S.A.
mohamed | Mohamed Salah | Nile Logistics
mohamed-2 | Mohamed Saad | Nile Logistics
maria-cruz | Maria de la Cruz | Banco del Sol
maria-cruz-2 | Mario de la Cruz | Banco del Sol
ana | Ana María García López | Iberia Digital S.L.
jean-luc | Jean-Luc Picard | Étoile SARL
jean | Jean Picot | Étoile SARL
obrien | Pat O'Brien | Shamrock Software
mcdonald | Fiona McDonald | Highland Wind Ltd
schmidt-meyer | Anna Schmidt-Meyer | Rhein Chemie AG
meyer | Anna Maier | Rhein Chemie AG
bill | William Harper | International Tolling Machines Corp.
will-2 | Wilma Harper | International Tolling Machines Corp.
bob | Robert Frost | Globex Foods
liz | Elizabeth Bennett | Longbourn Partners
beth-2 | Bethany Barnett | Longbourn Partners
kate | Katherine Johnson | Orbital Research
kathryn-2 | Katherine Johansson | Orbital Research
mike | Michael Chen | Delta Dental
mike-2 | Michael Chen | Delta Air Lines
mike-3 | Michelle Chen | Delta Air Lines
alex-f | Alexandra Popova | Volga Textiles
alex-m | Alexander Popov | Volga Textiles
john-a | John A. Carter | Mars Minerals
john-b | John B. Carter | Mars Minerals
peter | Peter van den Berg | Polder B.V.
peter-2 | Petra van den Berg | Polder B.V.
bjork | Björk Guðmundsdóttir | Reykjavik Sounds
ake | Åke Ström | Nordlys AB
soren | Søren Kjærgaard | Kronborg A/S
lukasz | Łukasz Wójcik | Wisła Soft sp. z o.o.
unal | Ünal Işık | Bosphorus Teknoloji
nguyen | Nguyễn Văn Minh | Saigon Rice
nguyen-2 | Nguyễn Văn Nam | Saigon Rice
kim | Kim Min-su | Hanok Design
tom | Thomas Edison Reed | Procter & Sons
ibm | Grace Hopper | International Business Machines Corporation
ge | Jack Wells | General Electric
gm | Jack Welsh | General Motors
cloud | Diane Green | Google Cloud
nolan | Chris Nolan | 
chris | Christina Nolan | Syncopy
dr | Dr. Emmett Brown, PhD | Flux Labs
orban | Viktor Orbán | Duna Paper Kft.
tariq | Tariq Al-Hashimi | Basra Oil Company
shira | Shira Levi | Negev Solar
oleg | Oleg Kovalenko | Dnipro Metal
julia | Julia Roth | Roth & Söhne
julian | Julian Roth | Roth & Söhne
sam-f | Samantha Cole | Beacon Health
sam-m | Samuel Cole | Harbor Bank
aleksei | Alexey Navolin | Baltika Steel PJSC
david | David James | Meridian
hilton | Paul Reed | Hilton Foods
oracle | Paul Reed | Oracle Racing
boe | Ruth Adler | Bank of England
geoff | Jeffrey Marsh | Orbit Ltd
mary-jane | Mary Jane Watson | Bugle Press
becky | Rebecca Lowe | Kite Inc
peggy | Margaret Olson | Sterling Cooper Draper Pryce
taro | 山田 太郎 | Sakura K.K.
ey | Nora Lind | Ernst & Young
jan | Jan Novak | Sazava Glass
`;

/** `name ; company -> id`, or `-` where nobody in the index is meant. */
const QUERIES = `
John Miller ; Acme -> john-acme
JOHN MILLER ; ACME INC -> john-acme
john miller ; acme.com -> john-acme
Jon Miller ; Acme -> john-acme
Miller, John ; Acme -> john-acme
John Miller ; Globex Foods -> john-globex
John Miller ; globexfoods.com -> john-globex
Johnny Miller ; Globex Foods Ltd -> john-globex
Jane Miller ; Acme -> jane-acme
Zoe Miller ; Acme -> zoe-acme
Zoë Miller ; Acme Incorporated -> zoe-acme
Z. Miller ; Acme -> zoe-acme
Zoe Zorn ; Acme -> -
J. Miller ; Acme -> -
Miller ; Acme -> -
John ; Acme -> -
John Miller ; Initech -> -
John Muller ; Acme -> -
John Millar ; Acme -> -
Jack Miles ; Acme -> -
Robert Stone Jr ; Acme -> jr-acme
Bob Stone, Jr. ; Acme -> jr-acme
Robert Stone Sr. ; Acme -> sr-acme
Robert Stone III ; Acme -> -
Lars Hansen ; Fjord Maritime -> hansen
Lars Hanson ; Fjord Maritime AS -> hanson
Lars Hanssen ; Fjord Maritime -> -
Lara Hansen ; Fjord Maritime -> -
Jürgen Müller ; Müller Maschinenbau -> jurgen
Juergen Mueller ; Mueller Maschinenbau GmbH -> jurgen
Jurgen Muller ; Muller Maschinenbau -> jurgen
Jürgen Möller ; Müller Maschinenbau -> jurgen-2
Juergen Moeller ; Müller Maschinenbau -> jurgen-2
Jürgen Miller ; Müller Maschinenbau -> -
Сергей Иванов ; Яндекс -> sergey
Sergei Ivanov ; Yandex -> sergey
Sergey Ivanov ; yandex.ru -> sergey
Serge Ivanov ; Yandex -> sergey
S. Ivanov ; Yandex -> sergey
Иванов Сергей ; Яндекс -> sergey
Sergey Ivanov ; Sberbank -> sergey-2
Сергей Иванов ; Сбербанк -> sergey-2
Анна Иванова ; Яндекс -> anna-ivanova
Anya Ivanova ; Yandex -> anna-ivanova
Anna Ivanov ; Yandex -> -
Sergey Ivanov ; Gazprom -> -
Сергей Петров ; Яндекс -> -
Пётр Чайковский ; Swan Lake Studios -> pyotr
Pyotr Tchaikovsky ; Swan Lake -> pyotr
Peter Tchaikovsky ; Swan Lake Studios -> pyotr
Pyotr Tchaikovskiy ; Swan Lake Studios -> pyotr
Дмитрий Шостаков ; Northern Lights -> dmitri
Dmitry Shostakov ; Northern Lights -> dmitri
Dima Shostakov ; Northern Lights -> dmitri
Dmitri Shostakovich ; Northern Lights -> -
王伟 ; Lotus Trading -> wang-wei
Wang Wei ; Lotus Trading -> wang-wei
Wei Wang ; Lotus Trading Co., Ltd -> wang-wei
王丽 ; Lotus Trading -> wang-li
Li Wang ; Lotus Trading -> wang-li
Wang Fang ; Lotus Trading -> -
王芳 ; Lotus Trading -> -
Γιώργος Παπαδόπουλος ; Aegean Ferries -> giorgos
Giorgos Papadopoulos ; Aegean Ferries SA -> giorgos
George Papadopoulos ; Aegean Ferries -> giorgos
Giorgos Papadakis ; Aegean Ferries -> -
محمد صلاح ; Nile Logistics -> mohamed
Mohammed Salah ; Nile Logistics -> mohamed
Muhammad Salah ; nilelogistics.com -> mohamed
Mohamed Saad ; Nile Logistics -> mohamed-2
محمد سعد ; Nile Logistics -> mohamed-2
Mohamed Sabry ; Nile Logistics -> -
Maria de la Cruz ; Banco del Sol -> maria-cruz
Maria Delacruz ; Banco del Sol -> maria-cruz
María Cruz ; Banco del Sol S.A. -> maria-cruz
Mario de la Cruz ; Banco del Sol -> maria-cruz-2
Marta de la Cruz ; Banco del Sol -> -
Maria de la Cruz ; Banco de la Luna -> -
Ana García ; Iberia Digital -> ana
Ana María García ; Iberia Digital -> ana
Ana Garcia Lopez ; Iberia Digital SL -> ana
Ana López ; Iberia -> ana
Ana Gómez ; Iberia Digital -> -
Ana García Pérez ; Iberia Digital -> -
Jean-Luc Picard ; Etoile -> jean-luc
Jean Luc Picard ; Étoile -> jean-luc
Jeanluc Picard ; Étoile SARL -> jean-luc
J.-L. Picard ; Étoile -> jean-luc
Jean Picot ; Étoile -> jean
Jean-Paul Picard ; Étoile -> -
Patrick O'Brien ; Shamrock Software -> obrien
Pat OBrien ; Shamrock Software -> obrien
Pat O’Brien ; Shamrock -> obrien
Paddy O'Brien ; Shamrock Software Ltd. -> obrien
Pat O'Brian ; Shamrock Software -> -
Fiona Mc Donald ; Highland Wind -> mcdonald
Fiona McDonald ; highlandwind.co.uk -> mcdonald
Fiona Macdonald ; Highland Wind -> -
Fiona MacDougall ; Highland Wind -> -
Anna Schmidt ; Rhein Chemie -> schmidt-meyer
Anna Schmidt Meyer ; Rhein-Chemie AG -> schmidt-meyer
Anna Meyer ; Rhein Chemie -> schmidt-meyer
Anna Maier ; Rhein Chemie -> meyer
Anna Schmitt ; Rhein Chemie -> -
Anna Mayer ; Rhein Chemie -> -
Bill Harper ; International Tolling Machines -> bill
William Harper ; ITM -> bill
Billy Harper ; ITM Corp -> bill
Will Harper ; International Tolling Machines Corporation -> bill
Wilma Harper ; ITM -> will-2
W. Harper ; ITM -> -
Harriet Harper ; ITM -> -
Bob Frost ; Globex Foods -> bob
Robert Frost ; Globex Foods GmbH -> bob
Frost Robert ; Globex Foods -> bob
Rupert Frost ; Globex Foods -> -
Robert Forst ; Globex Foods -> -
Bob Frost ; Acme -> -
Liz Bennett ; Longbourn -> liz
Beth Bennett ; Longbourn Partners -> liz
Elisabeth Bennett ; Longbourn Partners LLP -> liz
Bethany Barnett ; Longbourn Partners -> beth-2
Liz Benett ; Longbourn Partners -> -
Jane Bennett ; Longbourn Partners -> -
Kate Johnson ; Orbital Research -> kate
Catherine Johnson ; Orbital -> kate
Kathy Johnson ; orbital-research.org -> kate
Katherine Johansson ; Orbital Research -> kathryn-2
Katja Johansson ; Orbital Research -> kathryn-2
Karen Johnson ; Orbital Research -> -
Mike Chen ; Delta Dental -> mike
Michael Chen ; deltadental.com -> mike
Michael Chen ; Delta Air Lines -> mike-2
Mike Chen ; Delta Air Lines, Inc. -> mike-2
Michelle Chen ; Delta Air Lines -> mike-3
Michelle Chen ; Delta Dental -> -
Michael Chan ; Delta Dental -> -
Alexandra Popova ; Volga Textiles -> alex-f
Александра Попова ; Volga Textiles -> alex-f
Sasha Popova ; Volga Textiles -> alex-f
Sasha Popov ; Volga Textiles -> alex-m
Alexander Popov ; Volga Textiles OOO -> alex-m
Александр Попов ; Volga Textiles -> alex-m
Alexei Popov ; Volga Textiles -> -
John A. Carter ; Mars Minerals -> john-a
John Adam Carter ; Mars Minerals -> john-a
John B. Carter ; Mars Minerals -> john-b
John C. Carter ; Mars Minerals -> -
Jimmy Carter ; Mars Minerals -> -
Peter van den Berg ; Polder -> peter
Pieter van den Berg ; Polder -> -
Peter Berg ; Polder BV -> peter
Petra van den Berg ; Polder B.V. -> peter-2
Peter van den Burg ; Polder -> -
Bjork Gudmundsdottir ; Reykjavik Sounds -> bjork
Björk Guðmundsdóttir ; Reykjavík Sounds ehf -> bjork
Björk Guðmundsson ; Reykjavik Sounds -> -
Ake Strom ; Nordlys -> ake
Åke Ström ; Nordlys AB -> ake
Aake Stroem ; Nordlys -> ake
Åke Strand ; Nordlys -> -
Soren Kjaergaard ; Kronborg -> soren
Søren Kjærgaard ; Kronborg AS -> soren
Søren Kierkegaard ; Kronborg -> -
Lukasz Wojcik ; Wisla Soft -> lukasz
Łukasz Wójcik ; Wisła Soft -> lukasz
Lukas Wojcik ; Wisla Soft -> -
Lukasz Wojciechowski ; Wisla Soft -> -
Unal Isik ; Bosphorus Teknoloji -> unal
Ünal Işık ; Bosphorus -> unal
Ünal Işıkçı ; Bosphorus Teknoloji -> -
Nguyen Van Minh ; Saigon Rice -> nguyen
Minh Nguyen ; Saigon Rice -> nguyen
Nguyễn Văn Minh ; Saigon Rice JSC -> nguyen
Nam Nguyen ; Saigon Rice -> nguyen-2
Nguyen Van Hai ; Saigon Rice -> -
Linh Nguyen ; Saigon Rice -> -
Kim Min-su ; Hanok Design -> kim
Minsu Kim ; Hanok Design -> kim
Min Su Kim ; Hanok -> kim
Kim Min-ji ; Hanok Design -> -
Thomas Reed ; Procter & Sons -> tom
Tom Reed ; Procter and Sons -> tom
Thomas E. Reed ; Procter & Sons -> tom
Thomas F. Reed ; Procter & Sons -> -
Grace Hopper ; IBM -> ibm
Grace Hopper ; International Business Machines -> ibm
Grace Cooper ; IBM -> -
Grace Hopper ; Intel -> -
Jack Wells ; GE -> ge
Jack Wells ; General Electric Co. -> ge
Jack Welsh ; GM -> gm
Jack Welsh ; General Electric -> -
Jack Wells ; General Motors -> -
Diane Green ; Google -> cloud
Diane Greene ; Google -> -
Diana Green ; Google -> -
Diane Green ; Google Cloud -> cloud
Chris Nolan ; Warner -> nolan
Christopher Nolan ; Warner -> nolan
C. Nolan ; Warner -> -
Christina Nolan ; Syncopy -> chris
Tina Nolan ; Syncopy Ltd -> chris
Dr Emmett Brown ; Flux Labs -> dr
Emmett Brown ; Flux -> dr
Prof. Emmett Brown ; fluxlabs.io -> dr
Everett Brown ; Flux Labs -> -
Orbán Viktor ; Duna Paper -> orban
Viktor Orban ; Duna Paper Kft -> orban
Victor Orbán ; Duna Paper -> orban
Viktor Orban ; Tisza Paper -> -
Tariq Al-Hashimi ; Basra Oil -> tariq
Tariq Hashimi ; Basra Oil Company -> tariq
Tariq Alhashimi ; Basra Oil Co -> tariq
طارق الهاشمي ; Basra Oil -> tariq
Tariq Al-Hakim ; Basra Oil -> -
Shira Levi ; Negev Solar -> shira
שירה לוי ; Negev Solar -> shira
Shira Cohen ; Negev Solar -> -
Олег Коваленко ; Dnipro Metal -> oleg
Oleh Kovalenko ; Dnipro Metal -> -
Oleg Kovalenko ; Dnipro Metal LLC -> oleg
Oleg Kovalchuk ; Dnipro Metal -> -
Julia Roth ; Roth & Söhne -> julia
Julia Roth ; Roth und Soehne -> julia
Julian Roth ; Roth & Söhne -> julian
J. Roth ; Roth & Söhne -> -
Julius Roth ; Roth & Söhne -> -
Sam Cole ; Nowhere Inc -> -
Sam Cole ; Beacon Health -> sam-f
Samantha Cole ; Beacon Health Inc -> sam-f
Sam Cole ; Harbor Bank -> sam-m
Samuel Cole ; Harbor -> sam-m
Samantha Coleman ; Beacon Health -> -
Aleksei Navolin ; Baltika Steel -> aleksei
Алексей Наволин ; Baltika Steel -> aleksei
David James ; Meridian -> david
James David ; Meridian -> -
James, David ; Meridian -> david
Paul Reed ; Hilton -> -
Paul Reed ; Hilton Foods Ltd -> hilton
Paul Reed ; Oracle -> -
Ruth Adler ; Bank of America -> -
Ruth Adler ; Bank of England -> boe
Geoff Marsh ; Orbit -> geoff
Mary-Jane Watson ; Bugle Press -> mary-jane
Becky Lowe ; Kite -> becky
Peggy Olson ; SCDP -> peggy
山田太郎 ; Sakura -> taro
Nora Lind ; EY -> ey
Jana Novak ; Sazava Glass -> -
Erica Lowe ; Kite -> -
Michael Chen ; Delta -> -
Eve Adams ; Acme -> -
Ada Lovelace ; Analytical Engines -> -
John Smith ; Globex Foods -> -
`;

export interface NamedInIndex {
  readonly id: string;
  readonly name: string;
  readonly company: string | null;
}

function linesOf(text: string): readonly string[] {
  return text.trim().split("\n");
}

export const PEOPLE: readonly NamedInIndex[] = linesOf(INDEX).map((line) => {
  const [id = "", name = "", company = ""] = line.split("|").map((part) => part.trim());
  return { id, name, company: company === "" ? null : company };
});

export interface Query {
  readonly name: string;
  readonly company: string;
  /** Null: nobody of the index. */
  readonly id: string | null;
}

const written: readonly Query[] = linesOf(QUERIES).map((line) => {
  const [query = "", id = ""] = line.split("->").map((part) => part.trim());
  const [name = "", company = ""] = query.split(";").map((part) => part.trim());
  return { name, company, id: id === "-" ? null : id };
});

/** Each of the index as it stands there, too: found where the company is known. */
const asTheyStand: readonly Query[] = PEOPLE.flatMap(({ id, name, company }) =>
  company === null ? [] : [{ id, name, company }],
);

export const NAMED_QUERIES: readonly Query[] = [...written, ...asTheyStand];
