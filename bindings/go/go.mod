module kusionstack.io/kcl

go 1.25
